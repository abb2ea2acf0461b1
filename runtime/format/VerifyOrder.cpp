// Checks that every entry ends: plays the streams of all programs against each other, with waits,
// collectives and transfers that block and nothing else. Also checks that matched instructions
// agree.
//
// 1. Go through the runs of the entry and number the records of each event and the uses of each
//    channel.
// 2. Ranks that meet equal ranks form a class, and one stands for all (RankClasses).
// 3. Both ends of a channel have to agree: the same collectives; a receive for every send, of as
//    many elements of one type.
// 4. Move every stream as far as it gets, until none moves. A stream that has not ended would hang.
//    A send waits for its receive: no transport has to keep messages. On GPUs an operation between
//    ranks starts after all that its host enqueued before it, whatever their streams, have started,
//    as NCCL launches them (NCCL_LAUNCH_ORDER_IMPLICIT).
// 5. On GPUs, move every host through its collectives in the order in which it enqueues them, and
//    let it wait in each for the others of the group: NCCL registers the buffers of a collective
//    that is captured so, where it uses NVLS.
#include "runtime/format/VerifyOrder.h"

#include "runtime/format/InstructionText.h"
#include "runtime/format/Limits.h"
#include "runtime/format/RankClasses.h"
#include "runtime/format/Repeats.h"
#include "runtime/format/Target.h"
#include "runtime/format/VerifyContext.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace dtc::format {
namespace {

// A position in a program.
struct ProgramPoint {
  uint32_t task = 0, microBatch = 0, instruction = 0, layer = 0;
};

// An instruction that can hold up a stream: a record, wait, collective or transfer.
struct Stop {
  enum Kind { Record, Wait, Meet } kind;
  ProgramPoint point;
  uint32_t event = 0;   // Record, Wait
  uint32_t ordinal = 0; // Wait: how many records must have run; Meet: number in its channel, from 1
  uint32_t channel = 0; // Meet: index into the program's channels
  // Meet: number of operations of several ranks that the host enqueues before it; noLaunch in
  // groups of one rank, which launch none, and on CPUs, which keep no order of launches.
  uint32_t launch = 0;
};
constexpr uint32_t noLaunch = ~uint32_t(0);

struct ProgramStops {
  std::vector<std::vector<Stop>> streams;
  std::vector<Channel> channels;
  std::vector<std::vector<ProgramPoint>> uses; // uses of each channel, in order
  uint32_t launches = 0;                       // operations of several ranks
  std::vector<Stop> collectives;               // those of several ranks, as the host enqueues them
};

class OrderVerifier {
public:
  OrderVerifier(const VerifyContext &context, EntryKind entry)
      : context(context), manifest(context.manifest), kind(entry), ranks(manifest) {}

  rt::Status verify();

private:
  rt::Status collectStops(uint32_t p);
  rt::Status addStops(uint32_t p, const Run &run, bool isLast, ProgramStops &out);
  rt::Status addStop(uint32_t p, const ProgramPoint &point, ProgramStops &out);
  rt::Status addCommunication(uint32_t p, const ProgramPoint &point,
                              const Communication &communication, ProgramStops &out);
  rt::Status compareClass(uint32_t index);
  rt::Status compare(uint32_t p, uint32_t q, const Channel &channel, uint32_t rank,
                     uint32_t otherRank) const;
  rt::Status play();
  rt::Status playHosts();
  bool passes(uint32_t index, const Stop &stop);
  bool meets(uint32_t index, const Stop &stop);
  rt::Status explainHang(uint32_t index, size_t stream) const;
  rt::Status explainHosts(uint32_t index) const;
  const Stop *unlaunchedBefore(uint32_t index, const Stop &stop) const;
  rt::Status countTurn(uint64_t &turns) const;

  const Instruction &instructionAt(uint32_t p, const ProgramPoint &point) const {
    return *manifest.programs()
                ->Get(p)
                ->tasks()
                ->Get(point.task)
                ->instructions()
                ->Get(point.instruction);
  }
  std::string describe(uint32_t p, const ProgramPoint &point) const;
  const Stop *stuckAt(uint32_t index, size_t stream) const;
  const ProgramStops &stopsOf(uint32_t index) const {
    return stops[ranks.classes()[index].program];
  }
  // Returns the index of the channel in those of the program; their number if it has none such.
  uint32_t find(uint32_t p, const Channel &channel) const {
    const std::vector<Channel> &all = stops[p].channels;
    return static_cast<uint32_t>(std::find(all.begin(), all.end(), channel) - all.begin());
  }

  const VerifyContext &context;
  const Manifest &manifest;
  EntryKind kind;
  std::vector<uint32_t> records, recorder; // per event of the current program
  std::map<Channel, uint32_t> indices;     // indices of the channels of that program
  // Per task of that program: the instructions that are stops.
  std::vector<std::vector<uint32_t>> mayStop;
  uint64_t numStops = 0; // number of stops of that program
  std::vector<ProgramStops> stops;
  RankClasses ranks;

  // A class that a class meets in a channel, and the index of the channel there.
  struct Partner {
    uint32_t index, channel;
  };
  // The progress of a class: the position of its streams, how often each event was recorded, how
  // many uses of each channel it has reached, and its partners there.
  struct State {
    std::vector<size_t> position;
    std::vector<uint32_t> recorded, arrived;
    std::vector<std::vector<Partner>> partners;
    uint32_t launched = 0; // operations of several ranks that have started
    size_t collective = 0; // position of the host among its collectives
  };
  std::vector<State> states;
  bool hasLaunched = false;   // an operation has started since this was reset
  std::deque<uint32_t> awake; // classes that may move on
};

std::string OrderVerifier::describe(uint32_t p, const ProgramPoint &point) const {
  const Task &task = *manifest.programs()->Get(p)->tasks()->Get(point.task);
  return text("program ", p, ": task '", task.name()->string_view(), "', micro-batch ",
              point.microBatch, ", instruction ", point.instruction,
              point.layer > 0 ? text(" in layer ", point.layer) : "", ", ",
              format::describe(manifest, instructionAt(p, point)));
}

rt::Status OrderVerifier::collectStops(uint32_t p) {
  const Program &program = *manifest.programs()->Get(p);
  const Entry *entry = findEntry(program, kind);
  if (!entry)
    return context.fail("program ", p, " has no entry '", EnumNameEntryKind(kind),
                        "', which others have");
  ProgramStops &out = stops.emplace_back();
  out.streams.resize(program.num_streams());
  records.assign(program.num_events(), 0);
  recorder.assign(program.num_events(), 0);
  indices.clear();
  numStops = 0;
  mayStop.clear();
  for (const Task *task : *program.tasks()) {
    std::vector<uint32_t> &found = mayStop.emplace_back();
    for (uint32_t i = 0; i < task->instructions()->size(); ++i)
      if (const Instruction &each = *task->instructions()->Get(i);
          each.op_type() == Op::Record || each.op_type() == Op::Wait || communicationOf(each))
        found.push_back(i);
  }
  std::vector<uint32_t> left = countRuns(program, *entry);
  for (const Run *run : *entry->order())
    DTC_RETURN_IF_ERROR(addStops(p, *run, --left[run->task()] == 0, out));
  return {};
}

rt::Status OrderVerifier::addCommunication(uint32_t p, const ProgramPoint &point,
                                           const Communication &communication, ProgramStops &out) {
  const Instruction &instruction = instructionAt(p, point);
  Channel channel{Channel::Collective, communication.group, instruction.stream()};
  if (const Transfer *op = instruction.op_as_Transfer())
    channel = {op->kind() == TransferKind::send ? Channel::Send : Channel::Receive,
               communication.group, 0, op->shift()};
  auto [entry, isNew] = indices.try_emplace(channel, static_cast<uint32_t>(out.channels.size()));
  if (isNew) {
    out.channels.push_back(channel);
    out.uses.emplace_back();
  }
  std::vector<ProgramPoint> &uses = out.uses[entry->second];
  // Streams run in any order, so that all uses of a channel have to be on one stream.
  if (uint32_t first = isNew ? instruction.stream() : instructionAt(p, uses[0]).stream();
      first != instruction.stream())
    return context.fail(describe(p, point), ": it is on stream ",
                        static_cast<int>(instruction.stream()), " and one before it on stream ",
                        first, ", wanted one stream for all to or from one rank");
  uses.push_back(point);
  bool isLaunched = isForGpu(manifest) && manifest.groups()->Get(communication.group)->size() > 1;
  Stop stop{Stop::Meet,
            point,
            0,
            static_cast<uint32_t>(uses.size()),
            entry->second,
            isLaunched ? out.launches++ : noLaunch};
  out.streams[instruction.stream()].push_back(stop);
  if (isLaunched && channel.kind == Channel::Collective)
    out.collectives.push_back(stop);
  return {};
}

rt::Status OrderVerifier::addStops(uint32_t p, const Run &run, bool isLast, ProgramStops &out) {
  const Task &task = *manifest.programs()->Get(p)->tasks()->Get(run.task());
  rt::Status status;
  visitLayers(task, mayStop[run.task()], [&](uint32_t i, uint32_t layer) {
    if (++numStops > maxStops)
      status = context.fail("program ", p, ": entry '", EnumNameEntryKind(kind), "' has more than ",
                            maxStops, " records, waits, collectives and transfers");
    else if (isLast || task.instructions()->Get(i)->runs() != Runs::last)
      status = addStop(p, {run.task(), run.micro_batch(), i, layer}, out);
    return status.ok();
  });
  return status;
}

rt::Status OrderVerifier::addStop(uint32_t p, const ProgramPoint &point, ProgramStops &out) {
  const Instruction &instruction = instructionAt(p, point);
  uint32_t stream = instruction.stream();
  if (const Record *op = instruction.op_as_Record()) {
    uint32_t event = eventOf(*op, point.layer, point.microBatch);
    if (records[event]++ == 0)
      recorder[event] = stream;
    if (recorder[event] != stream)
      return context.fail(describe(p, point), ": event ", event, " is recorded on streams ",
                          recorder[event], " and ", stream, ", wanted one");
    out.streams[stream].push_back({Stop::Record, point, event});
    return {};
  }
  if (const Wait *op = instruction.op_as_Wait()) {
    uint32_t event = eventOf(*op, point.layer, point.microBatch);
    if (records[event] == 0)
      return context.fail(describe(p, point), ": no record of event ", event,
                          " comes before this wait in entry '", EnumNameEntryKind(kind),
                          "', which would never end");
    out.streams[stream].push_back({Stop::Wait, point, event, records[event]});
    return {};
  }
  return addCommunication(p, point, *communicationOf(instruction), out);
}

// Compares the instructions of `rank` of program p in a channel with those of `otherRank` of
// program q at its other end.
rt::Status OrderVerifier::compare(uint32_t p, uint32_t q, const Channel &channel, uint32_t rank,
                                  uint32_t otherRank) const {
  const Channel there = channel.other(manifest.groups()->Get(channel.group)->size());
  static const std::vector<ProgramPoint> none;
  uint32_t at = find(p, channel), otherAt = find(q, there);
  const std::vector<ProgramPoint> &mine = stops[p].uses[at];
  const std::vector<ProgramPoint> &theirs =
      otherAt < stops[q].uses.size() ? stops[q].uses[otherAt] : none;
  std::string group = groupName(manifest, channel.group);
  if (channel.kind == Channel::Collective) {
    auto same = [&](const ProgramPoint &a, const ProgramPoint &b) {
      const Collective &x = *instructionAt(p, a).op_as_Collective();
      const Collective &y = *instructionAt(q, b).op_as_Collective();
      return x.kind() == y.kind() && x.reduce() == y.reduce() && x.dtype() == y.dtype() &&
             x.count() == y.count();
    };
    if (!std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(), same))
      return context.fail("programs ", p, " and ", q, " run ranks of one group, '", group,
                          "', but their ", mine.size(), " and ", theirs.size(),
                          " collectives on stream ", channel.stream, " differ");
    return {};
  }
  const char *verbs[] = {" sends ", " receives "};
  bool receives = channel.kind == Channel::Receive;
  if (mine.size() != theirs.size())
    return context.fail("in entry '", EnumNameEntryKind(kind), "' rank ", rank, " of program ", p,
                        verbs[receives], mine.size(), receives ? " from" : " to", " rank ",
                        otherRank, " over '", group, "', but rank ", otherRank, " of program ", q,
                        verbs[!receives], theirs.size());
  for (size_t i = 0; i < mine.size(); ++i) {
    const Transfer &a = *instructionAt(p, mine[i]).op_as_Transfer();
    const Transfer &b = *instructionAt(q, theirs[i]).op_as_Transfer();
    if (a.count() != b.count() || a.dtype() != b.dtype())
      return context.fail(describe(p, mine[i]), ": it moves ", a.count(), " of ",
                          EnumNameDType(a.dtype()), " between ranks ", rank, " and ", otherRank,
                          ", but what it meets, ", describe(q, theirs[i]), ", moves ", b.count(),
                          " of ", EnumNameDType(b.dtype()));
  }
  return {};
}

// Finds the classes that a class meets, and compares their instructions.
rt::Status OrderVerifier::compareClass(uint32_t index) {
  const RankClasses::Class &mine = ranks.classes()[index];
  State &state = states[index];
  const std::vector<Channel> &channels = stops[mine.program].channels;
  std::set<uint32_t> compared; // programs
  for (const Channel &channel : channels) {
    std::vector<Partner> &partners = state.partners.emplace_back();
    compared.clear();
    for (uint32_t other : ranks.partners(index, channel)) {
      const RankClasses::Class &theirs = ranks.classes()[other];
      if (compared.insert(theirs.program).second)
        DTC_RETURN_IF_ERROR(compare(mine.program, theirs.program, channel, mine.rank, theirs.rank));
      partners.push_back(
          {other,
           find(theirs.program, channel.other(manifest.groups()->Get(channel.group)->size()))});
    }
  }
  return {};
}

bool OrderVerifier::passes(uint32_t index, const Stop &stop) {
  State &state = states[index];
  if (stop.kind == Stop::Record) {
    ++state.recorded[stop.event];
    return true;
  }
  if (stop.kind == Stop::Wait)
    return state.recorded[stop.event] >= stop.ordinal;
  if (stop.launch != noLaunch && stop.launch > state.launched)
    return false;
  if (stop.launch == state.launched) {
    ++state.launched;
    hasLaunched = true;
  }
  return meets(index, stop);
}

// Arrives at an operation, and returns true if all of its other ranks have, too.
bool OrderVerifier::meets(uint32_t index, const Stop &stop) {
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

const Stop *OrderVerifier::stuckAt(uint32_t index, size_t stream) const {
  const std::vector<Stop> &all = stopsOf(index).streams[stream];
  size_t position = states[index].position[stream];
  return position < all.size() ? &all[position] : nullptr;
}

rt::Status OrderVerifier::countTurn(uint64_t &turns) const {
  if (++turns > maxTurns)
    return context.fail("entry '", EnumNameEntryKind(kind), "' of ", states.size(),
                        " kinds of ranks takes more than ", maxTurns, " turns to check");
  return {};
}

// Moves the hosts through their collectives.
rt::Status OrderVerifier::playHosts() {
  for (uint32_t index = 0; index < states.size(); ++index) {
    std::fill(states[index].arrived.begin(), states[index].arrived.end(), 0);
    awake.push_back(index);
  }
  uint64_t turns = 0;
  while (!awake.empty()) {
    uint32_t index = awake.front();
    awake.pop_front();
    DTC_RETURN_IF_ERROR(countTurn(turns));
    const std::vector<Stop> &all = stopsOf(index).collectives;
    size_t &position = states[index].collective;
    while (position < all.size() && meets(index, all[position]))
      ++position;
  }
  for (uint32_t index = 0; index < states.size(); ++index)
    if (states[index].collective < stopsOf(index).collectives.size())
      return explainHosts(index);
  return {};
}

rt::Status OrderVerifier::explainHosts(uint32_t index) const {
  const Stop &stop = stopsOf(index).collectives[states[index].collective];
  const RankClasses::Class &mine = ranks.classes()[index];
  std::string other;
  for (const Partner &partner : states[index].partners[stop.channel])
    if (const State &theirs = states[partner.index];
        other.empty() && theirs.arrived[partner.channel] < stop.ordinal &&
        theirs.collective < stopsOf(partner.index).collectives.size()) {
      const RankClasses::Class &of = ranks.classes()[partner.index];
      other =
          text("; rank ", of.rank, " enqueues ",
               describe(of.program, stopsOf(partner.index).collectives[theirs.collective].point),
               " before it");
    }
  return context.fail("entry '", EnumNameEntryKind(kind), "', ", describe(mine.program, stop.point),
                      ": hosts enqueue their collectives in orders that wait for each other",
                      other);
}

rt::Status OrderVerifier::play() {
  for (uint32_t index = 0; index < states.size(); ++index)
    awake.push_back(index);
  uint64_t turns = 0;
  while (!awake.empty()) {
    uint32_t index = awake.front();
    awake.pop_front();
    DTC_RETURN_IF_ERROR(countTurn(turns));
    State &state = states[index];
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stream = 0; stream < state.position.size(); ++stream)
        for (const Stop *stop; (stop = stuckAt(index, stream)) && passes(index, *stop);
             ++state.position[stream])
          moved = true;
      moved |= std::exchange(hasLaunched, false);
    }
  }
  // Reports streams that wait for other ranks before those that wait for local events, as they say
  // more.
  for (bool meets : {true, false})
    for (uint32_t index = 0; index < states.size(); ++index)
      for (size_t stream = 0; stream < states[index].position.size(); ++stream)
        if (const Stop *stop = stuckAt(index, stream); stop && (stop->kind == Stop::Meet) == meets)
          return explainHang(index, stream);
  return {};
}

// Returns the first operation that has not started where it keeps `stop` from starting, else null.
const Stop *OrderVerifier::unlaunchedBefore(uint32_t index, const Stop &stop) const {
  if (stop.kind != Stop::Meet || stop.launch == noLaunch || stop.launch <= states[index].launched)
    return nullptr;
  for (const std::vector<Stop> &stream : stopsOf(index).streams)
    for (const Stop &each : stream)
      if (each.kind == Stop::Meet && each.launch == states[index].launched)
        return &each;
  return nullptr;
}

rt::Status OrderVerifier::explainHang(uint32_t index, size_t stream) const {
  const Stop &stop = *stuckAt(index, stream);
  const RankClasses::Class &mine = ranks.classes()[index];
  std::string other;
  if (const Stop *before = unlaunchedBefore(index, stop))
    other = text(" for the start of what is enqueued before it, ",
                 describe(mine.program, before->point));
  else if (stop.kind == Stop::Meet)
    for (const Partner &partner : states[index].partners[stop.channel]) {
      if (states[partner.index].arrived[partner.channel] >= stop.ordinal)
        continue;
      const RankClasses::Class &theirs = ranks.classes()[partner.index];
      const Stop *there = nullptr;
      for (size_t i = 0; !there && i < states[partner.index].position.size(); ++i)
        there = stuckAt(partner.index, i);
      other = text(" for rank ", theirs.rank, ", which waits in ",
                   there ? describe(theirs.program, there->point) : "no instruction");
      break;
    }
  const char *mend = isForGpu(manifest)
                         ? "; NCCL starts operations in the order in which hosts enqueue them, in "
                           "which this program does not end"
                         : "";
  return context.fail("entry '", EnumNameEntryKind(kind), "', ", describe(mine.program, stop.point),
                      ": stream ", stream, " of rank ", mine.rank, " would wait here forever",
                      other, mend);
}

rt::Status OrderVerifier::verify() {
  std::vector<std::vector<Channel>> channels;
  for (uint32_t p = 0; p < manifest.programs()->size(); ++p) {
    DTC_RETURN_IF_ERROR(collectStops(p));
    channels.push_back(stops.back().channels);
  }
  DTC_RETURN_IF_ERROR(ranks.find(context, channels));
  for (const RankClasses::Class &each : ranks.classes()) {
    State &state = states.emplace_back();
    state.position.resize(stops[each.program].streams.size());
    state.recorded.resize(manifest.programs()->Get(each.program)->num_events());
    state.arrived.resize(stops[each.program].channels.size());
  }
  for (uint32_t index = 0; index < states.size(); ++index)
    DTC_RETURN_IF_ERROR(compareClass(index));
  DTC_RETURN_IF_ERROR(play());
  return playHosts();
}

} // namespace

rt::Status verifyOrder(const VerifyContext &context) {
  for (EntryKind kind : EnumValuesEntryKind()) {
    bool isThere = false;
    for (const Program *program : *context.manifest.programs())
      isThere |= findEntry(*program, kind) != nullptr;
    if (isThere)
      DTC_RETURN_IF_ERROR(OrderVerifier(context, kind).verify());
  }
  return {};
}

} // namespace dtc::format
