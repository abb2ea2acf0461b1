#include "compiler/prove/verify/CommunicationProof.h"

#include "runtime/format/Description.h"
#include "runtime/format/Target.h"
#include "runtime/format/VerifyContext.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace dtc {

using format::Channel;
using format::text;

const format::Instruction &CommunicationProof::instructionOf(uint32_t program, uint32_t run,
                                                             uint32_t step) const {
  uint32_t task = runOf(program, run).task();
  return *steps[program].accesses(task, steps[program].executed(task)[step].instruction).source;
}

std::optional<Fault> CommunicationProof::addStop(uint32_t p, Stop stop,
                                                 std::vector<uint32_t> &records) {
  Program &program = programs[p];
  uint32_t run = stop.run, step = stop.step;
  const format::Instruction &instruction = instructionOf(p, run, step);
  uint32_t layer = steps[p].executed(runOf(p, run).task())[step].layer;
  uint8_t stream = instruction.stream();
  if (const format::Record *op = instruction.op_as_Record()) {
    stop.event = format::eventOf(*op, layer, runOf(p, run).micro_batch());
    ++records[stop.event];
  } else if (const format::Wait *op = instruction.op_as_Wait()) {
    stop.kind = Stop::Wait;
    stop.event = format::eventOf(*op, layer, runOf(p, run).micro_batch());
    stop.ordinal = records[stop.event];
    if (stop.ordinal == 0)
      return fault(p, run, step,
                   text("waits for event ", stop.event, ", which nothing before it records"));
  } else {
    std::optional<format::Communication> communication = format::communicationOf(instruction);
    stop.kind = Stop::Communicate;
    Channel channel{Channel::Collective, communication->group, stream};
    if (const format::Transfer *op = instruction.op_as_Transfer())
      channel = {op->kind() == format::TransferKind::send ? Channel::Send : Channel::Receive,
                 communication->group, 0, op->shift()};
    auto found = std::find(program.channels.begin(), program.channels.end(), channel);
    stop.channel = static_cast<uint32_t>(found - program.channels.begin());
    if (found == program.channels.end()) {
      program.channels.push_back(channel);
      program.uses.emplace_back();
    }
    program.uses[stop.channel].emplace_back(run, step);
    stop.ordinal = static_cast<uint32_t>(program.uses[stop.channel].size());
    bool isLaunched =
        format::isForGpu(manifest) && manifest.groups()->Get(communication->group)->size() > 1;
    stop.launch = isLaunched ? program.launches++ : noLaunch;
    if (isLaunched && channel.kind == Channel::Collective)
      program.collectives.push_back(stop);
  }
  program.streams[stream].push_back(stop);
  return std::nullopt;
}

const CommunicationProof::Shape &CommunicationProof::shapeOf(uint32_t p, uint32_t run,
                                                             bool isLast) {
  uint32_t task = runOf(p, run).task();
  auto [entry, isNew] = programs[p].shapes.try_emplace({task, isLast});
  Shape &shape = entry->second;
  if (!isNew)
    return shape;
  shape.positions.resize(steps[p].program.num_streams());
  for (uint32_t step = 0; step < steps[p].executed(task).size(); ++step) {
    const format::Instruction &instruction = instructionOf(p, run, step);
    if (!isLast && instruction.runs() == format::Runs::last)
      continue;
    std::vector<uint32_t> &positions = shape.positions[instruction.stream()];
    if (instruction.op_as_Record() || instruction.op_as_Wait() ||
        format::communicationOf(instruction))
      shape.stops.push_back({step, shape.count, static_cast<uint32_t>(positions.size())});
    positions.push_back(shape.count++);
  }
  return shape;
}

std::optional<Fault> CommunicationProof::collect(uint32_t p) {
  const Steps &of = steps[p];
  Program &program = programs.emplace_back();
  program.streams.resize(of.program.num_streams());
  std::vector<uint32_t> records(of.program.num_events()), left = of.runs;
  Start start{nullptr, 0, std::vector<uint32_t>(of.program.num_streams())};
  for (uint32_t run = 0; run < of.entry.order()->size(); ++run) {
    start.shape = &shapeOf(p, run, left[runOf(p, run).task()]-- == 1);
    program.starts.push_back(start);
    for (const Shape::Position &each : start.shape->stops) {
      uint8_t stream = instructionOf(p, run, each.step).stream();
      Stop stop{Stop::Record, run, each.step, start.position + each.position,
                start.sequences[stream] + each.sequence};
      if (std::optional<Fault> found = addStop(p, stop, records))
        return found;
    }
    start.position += start.shape->count;
    for (size_t stream = 0; stream < start.sequences.size(); ++stream)
      start.sequences[stream] += static_cast<uint32_t>(start.shape->positions[stream].size());
  }
  program.starts.push_back(start);
  return std::nullopt;
}

// Compares the instructions of `p` in a channel with those of `q` at the other end.
std::optional<Fault> CommunicationProof::compare(uint32_t p, uint32_t q, const Channel &channel) {
  static const std::vector<std::pair<uint32_t, uint32_t>> none;
  Channel there = channel.other(manifest.groups()->Get(channel.group)->size());
  auto usesOf = [&](uint32_t program, const Channel &wanted) -> const auto & {
    const auto &all = programs[program].channels;
    auto found = std::find(all.begin(), all.end(), wanted);
    return found == all.end() ? none
                              : programs[program].uses[static_cast<size_t>(found - all.begin())];
  };
  const auto &mine = usesOf(p, channel), &theirs = usesOf(q, there);
  for (size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
    const format::Instruction &a = instructionOf(p, mine[i].first, mine[i].second);
    const format::Instruction &b = instructionOf(q, theirs[i].first, theirs[i].second);
    std::string differs;
    auto same = [&](const char *what, auto x, auto y) {
      if (x != y && differs.empty())
        differs = what;
    };
    if (const format::Collective *x = a.op_as_Collective()) {
      const format::Collective *y = b.op_as_Collective();
      same("kind", x->kind(), y->kind());
      same("reduction", x->reduce(), y->reduce());
      same("type", x->dtype(), y->dtype());
      same("number of elements", x->count(), y->count());
      same("role", x->role(), y->role());
    } else {
      same("type", a.op_as_Transfer()->dtype(), b.op_as_Transfer()->dtype());
      same("number of elements", a.op_as_Transfer()->count(), b.op_as_Transfer()->count());
    }
    if (!differs.empty())
      return fault(p, mine[i].first, mine[i].second,
                   text("meets an instruction of rank ", steps[q].rank, " of another ", differs),
                   "the other one: " + describe(q, theirs[i].first, theirs[i].second));
  }
  if (mine.size() != theirs.size()) {
    bool isMine = mine.size() > theirs.size();
    const auto &[run, step] = isMine ? mine[theirs.size()] : theirs[mine.size()];
    return fault(isMine ? p : q, run, step,
                 text("has no counterpart in rank ", steps[isMine ? q : p].rank, ", which has ",
                      std::min(mine.size(), theirs.size()), " of this kind, not ",
                      std::max(mine.size(), theirs.size())));
  }
  return std::nullopt;
}

std::optional<Fault> CommunicationProof::match() {
  for (uint32_t index = 0; index < states.size(); ++index) {
    const format::RankClasses::Class &mine = ranks.classes()[index];
    std::set<uint32_t> compared;
    for (const Channel &channel : programs[mine.program].channels) {
      compared.clear();
      Channel there = channel.other(manifest.groups()->Get(channel.group)->size());
      std::vector<Partner> &partners = states[index].partners.emplace_back();
      for (uint32_t other : ranks.partners(index, channel)) {
        uint32_t program = ranks.classes()[other].program;
        if (compared.insert(program).second)
          if (std::optional<Fault> found = compare(mine.program, program, channel))
            return found;
        const auto &all = programs[program].channels;
        partners.push_back(
            {other, static_cast<uint32_t>(std::find(all.begin(), all.end(), there) - all.begin())});
      }
    }
  }
  return std::nullopt;
}

const CommunicationProof::Stop *CommunicationProof::next(uint32_t index, size_t stream) const {
  const std::vector<Stop> &all = programs[ranks.classes()[index].program].streams[stream];
  size_t position = states[index].position[stream];
  return position < all.size() ? &all[position] : nullptr;
}

// The position of an instruction of a stream among all that the host enqueues.
uint32_t CommunicationProof::positionOf(uint32_t program, size_t stream, uint32_t sequence) const {
  const std::vector<Start> &starts = programs[program].starts;
  auto after = std::upper_bound(
      starts.begin(), starts.end(), sequence,
      [&](uint32_t wanted, const Start &start) { return wanted < start.sequences[stream]; });
  const Start &start = *std::prev(after);
  return start.position + start.shape->positions[stream][sequence - start.sequences[stream]];
}

// Returns the number of instructions that the host has enqueued when no stream can move: up to the
// first one that does not fit in the ring of a waiting stream.
uint32_t CommunicationProof::enqueued(uint32_t index) const {
  uint32_t least = std::numeric_limits<uint32_t>::max();
  uint32_t program = ranks.classes()[index].program;
  const Start &end = programs[program].starts.back();
  for (size_t stream = 0; stream < end.sequences.size(); ++stream)
    if (const Stop *stop = next(index, stream))
      if (uint32_t full = stop->sequence + ringSlots; full < end.sequences[stream])
        least = std::min(least, positionOf(program, stream, full));
  return least;
}

bool CommunicationProof::passes(uint32_t index, const Stop &stop) {
  State &state = states[index];
  if (stop.position >= state.enqueued)
    state.enqueued = enqueued(index);
  if (stop.position >= state.enqueued)
    return false;
  if (stop.kind == Stop::Record) {
    ++state.recorded[stop.event];
    return true;
  }
  if (stop.kind == Stop::Wait)
    return state.recorded[stop.event] >= stop.ordinal;
  // NCCL launches the operations of a rank in the order in which the host enqueues them
  // (NCCL_LAUNCH_ORDER_IMPLICIT): each starts after all before it have started, whatever their
  // streams.
  if (stop.launch != noLaunch && stop.launch > state.launched)
    return false;
  if (stop.launch == state.launched) {
    ++state.launched;
    hasLaunched = true;
  }
  return meets(index, stop);
}

// Arrives at an operation, and returns true if all of its other ranks have, too.
bool CommunicationProof::meets(uint32_t index, const Stop &stop) {
  State &state = states[index];
  const std::vector<Partner> &partners = state.partners[stop.channel];
  if (state.arrived[stop.channel] < stop.ordinal) {
    state.arrived[stop.channel] = stop.ordinal;
    for (const Partner &partner : partners)
      if (partner.index != index)
        awake.push_back(partner.index);
  }
  return std::all_of(partners.begin(), partners.end(), [&](const Partner &partner) {
    return states[partner.index].arrived[partner.channel] >= stop.ordinal;
  });
}

std::optional<Fault> CommunicationProof::play() {
  for (uint32_t index = 0; index < states.size(); ++index)
    awake.push_back(index);
  while (!awake.empty()) {
    uint32_t index = awake.front();
    awake.pop_front();
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stream = 0; stream < states[index].position.size(); ++stream)
        for (const Stop *stop; (stop = next(index, stream)) && passes(index, *stop);
             ++states[index].position[stream])
          moved = true;
      moved |= std::exchange(hasLaunched, false);
    }
  }
  return explain();
}

// Moves every host through its collectives in the order in which it enqueues them, and lets it wait
// in each for the others of the group: NCCL registers the buffers of a collective that is captured
// so, where it uses NVLS.
std::optional<Fault> CommunicationProof::playHosts() {
  for (uint32_t index = 0; index < states.size(); ++index) {
    std::fill(states[index].arrived.begin(), states[index].arrived.end(), 0);
    awake.push_back(index);
  }
  auto collectivesOf = [&](uint32_t index) -> const std::vector<Stop> & {
    return programs[ranks.classes()[index].program].collectives;
  };
  while (!awake.empty()) {
    uint32_t index = awake.front();
    awake.pop_front();
    size_t &position = states[index].collective;
    while (position < collectivesOf(index).size() && meets(index, collectivesOf(index)[position]))
      ++position;
  }
  for (uint32_t index = 0; index < states.size(); ++index) {
    if (states[index].collective == collectivesOf(index).size())
      continue;
    const Stop &stop = collectivesOf(index)[states[index].collective];
    const format::RankClasses::Class &mine = ranks.classes()[index];
    std::string note;
    for (const Partner &partner : states[index].partners[stop.channel]) {
      const State &there = states[partner.index];
      if (there.arrived[partner.channel] >= stop.ordinal ||
          there.collective == collectivesOf(partner.index).size())
        continue;
      const Stop &before = collectivesOf(partner.index)[there.collective];
      const format::RankClasses::Class &theirs = ranks.classes()[partner.index];
      note = text("rank ", theirs.rank, " enqueues ",
                  describe(theirs.program, before.run, before.step), " before it");
      break;
    }
    Fault found = fault(mine.program, stop.run, stop.step,
                        "hosts enqueue their collectives in orders that wait for each other", note);
    found.rank = mine.rank;
    return found;
  }
  return std::nullopt;
}

// Reports streams that wait for other ranks before streams that wait for local events, as the
// former say more about the cause.
std::optional<Fault> CommunicationProof::explain() const {
  for (bool meets : {true, false})
    for (uint32_t index = 0; index < states.size(); ++index)
      for (size_t stream = 0; stream < states[index].position.size(); ++stream) {
        const Stop *stop = next(index, stream);
        if (!stop || (stop->kind == Stop::Communicate) != meets)
          continue;
        const format::RankClasses::Class &mine = ranks.classes()[index];
        Fault found =
            fault(mine.program, stop->run, stop->step,
                  text("would wait forever on stream ", stream), explainWait(index, *stop));
        found.rank = mine.rank;
        return found;
      }
  return std::nullopt;
}

// Says for what a stop waits; empty for a wait for a local event.
std::string CommunicationProof::explainWait(uint32_t index, const Stop &stop) const {
  if (stop.position >= enqueued(index))
    return text("the host cannot enqueue it: more than ", ringSlots,
                " instructions of a stream lie behind one that waits");
  if (stop.kind != Stop::Communicate)
    return "";
  const State &state = states[index];
  uint32_t program = ranks.classes()[index].program;
  if (stop.launch != noLaunch && stop.launch > state.launched)
    for (const std::vector<Stop> &stream : programs[program].streams)
      for (const Stop &before : stream)
        if (before.kind == Stop::Communicate && before.launch == state.launched)
          return text("NCCL starts it after what the host enqueues before it, ",
                      describe(program, before.run, before.step));
  for (const Partner &partner : state.partners[stop.channel])
    if (states[partner.index].arrived[partner.channel] < stop.ordinal) {
      const Stop *there = nullptr;
      for (size_t i = 0; !there && i < states[partner.index].position.size(); ++i)
        there = next(partner.index, i);
      const format::RankClasses::Class &theirs = ranks.classes()[partner.index];
      return text("rank ", theirs.rank, " is in ",
                  there ? describe(theirs.program, there->run, there->step) : "no instruction");
    }
  return "";
}

std::optional<Fault> CommunicationProof::prove() {
  std::vector<std::vector<Channel>> channels;
  for (uint32_t p = 0; p < steps.size(); ++p) {
    if (std::optional<Fault> found = collect(p))
      return found;
    channels.push_back(programs.back().channels);
  }
  std::string name = "the program";
  format::VerifyContext context(manifest, name);
  if (rt::Status status = ranks.find(context, channels); !status.ok()) {
    Fault fault;
    fault.check = "communication";
    fault.message = status.message();
    return fault;
  }
  for (const format::RankClasses::Class &each : ranks.classes()) {
    State &state = states.emplace_back();
    state.position.resize(programs[each.program].streams.size());
    state.recorded.resize(steps[each.program].program.num_events());
    state.arrived.resize(programs[each.program].channels.size());
  }
  if (std::optional<Fault> found = match())
    return found;
  if (std::optional<Fault> found = play())
    return found;
  return playHosts();
}

} // namespace dtc
