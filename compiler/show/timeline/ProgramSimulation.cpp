// Simulates a step of a program.
//
// 1. A class of ranks is one device with the program's streams; all that each enqueues is listed.
// 2. A matched collective becomes one task on the streams of all ranks that take part. The streams
//    are followed together, and the task is made when all of them have come to it.
// 3. A wait is a task of no time that depends on the last task before the record.
// 4. Start and end times give bubbles, exposed communication and memory.
#include "compiler/show/timeline/ProgramSimulation.h"

#include "compiler/price/cost/CollectiveCost.h"
#include "runtime/format/Description.h"
#include "runtime/format/InstructionText.h"
#include "runtime/format/Instructions.h"
#include "runtime/format/RankClasses.h"
#include "runtime/format/Repeats.h"
#include "runtime/format/VerifyContext.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace dtc {
namespace {

using format::Channel;

// The next action of a stream.
struct Item {
  const format::Instruction *source;
  SimulatedRun run;
  int channel = -1;     // channel of a send, receive or collective
  uint32_t ordinal = 0; // position in its channel, from 0
  int waitStream = -1;  // waits for the item `waitItem` of this stream
  int waitItem = -1;
};

struct Streams {
  std::vector<std::vector<Item>> items; // per stream
  std::vector<Channel> channels;
};

class ProgramRun {
public:
  ProgramRun(const format::Manifest &manifest, const InstructionCost &cost)
      : manifest(manifest), cost(cost), ranks(manifest) {}

  Result<ProgramSimulation> run();

private:
  Status findClasses();
  Streams listStreams(const format::Program &program) const;
  void addDevices();
  void addTasks();
  bool goesOn(uint32_t index, size_t stream);
  bool addCommunication(uint32_t index, size_t stream);
  void addTask(const std::vector<std::pair<uint32_t, size_t>> &at);
  void measure();
  void measureClass(uint32_t index);
  void addMemory(uint32_t index);

  const Streams &streamsOf(uint32_t index) const {
    return programs[ranks.classes()[index].program];
  }
  const Item *next(uint32_t index, size_t stream) const {
    const std::vector<Item> &all = streamsOf(index).items[stream];
    size_t position = positions[index][stream];
    return position < all.size() ? &all[position] : nullptr;
  }

  const format::Manifest &manifest;
  const InstructionCost &cost;
  format::RankClasses ranks;
  std::vector<Streams> programs;
  std::vector<std::vector<size_t>> positions;      // per class and stream
  std::vector<std::vector<int>> simStreams;        // per class and stream
  std::vector<std::vector<int>> links;             // per class and level
  std::vector<std::vector<std::vector<int>>> made; // per class, stream and item: its task
  std::vector<std::pair<int, std::array<uint32_t, 3>>> waits; // task; class, stream, item
  ProgramSimulation out;
};

Streams ProgramRun::listStreams(const format::Program &program) const {
  Streams streams;
  streams.items.resize(program.num_streams());
  const format::Entry &entry = *format::findEntry(program, format::EntryKind::train);
  std::vector<uint32_t> left = format::countRuns(program, entry);
  std::map<uint32_t, std::pair<int, int>> recorded; // event: stream, items before it
  std::map<Channel, std::pair<int, uint32_t>> met;  // channel: index, communications so far
  for (const format::Run *run : *entry.order()) {
    const format::Task &task = *program.tasks()->Get(run->task());
    bool isLast = left[run->task()]-- == 1;
    std::vector<uint32_t> every(task.instructions()->size());
    std::iota(every.begin(), every.end(), 0u);
    format::visitLayers(task, every, [&](uint32_t i, uint32_t layer) {
      const format::Instruction &instruction = *task.instructions()->Get(i);
      if (!isLast && instruction.runs() == format::Runs::last)
        return true;
      auto stream = instruction.stream();
      std::vector<Item> &items = streams.items[stream];
      if (const format::Record *op = instruction.op_as_Record()) {
        recorded[format::eventOf(*op, layer, run->micro_batch())] = {
            stream, static_cast<int>(items.size())};
        return true;
      }
      Item item{&instruction, {-1, run->task(), i, layer, run->micro_batch(), stream}};
      if (const format::Wait *op = instruction.op_as_Wait()) {
        auto [of, before] = recorded[format::eventOf(*op, layer, run->micro_batch())];
        item.waitStream = of;
        item.waitItem = before - 1;
      } else if (std::optional<format::Communication> communication =
                     format::communicationOf(instruction)) {
        Channel channel{Channel::Collective, communication->group, stream};
        if (const format::Transfer *transfer = instruction.op_as_Transfer())
          channel = {transfer->kind() == format::TransferKind::send ? Channel::Send
                                                                    : Channel::Receive,
                     communication->group, 0, transfer->shift()};
        auto [entry, isNew] =
            met.try_emplace(channel, static_cast<int>(streams.channels.size()), 0u);
        if (isNew)
          streams.channels.push_back(channel);
        item.channel = entry->second.first;
        item.ordinal = entry->second.second++;
      }
      items.push_back(item);
      return true;
    });
  }
  return streams;
}

Status ProgramRun::findClasses() {
  std::vector<std::vector<Channel>> channels;
  for (const format::Program *program : *manifest.programs()) {
    programs.push_back(listStreams(*program));
    channels.push_back(programs.back().channels);
  }
  std::string name = "simulating";
  format::VerifyContext context(manifest, name);
  if (rt::Status status = ranks.find(context, channels); !status.ok())
    return UserError(status.message());
  return {};
}

void ProgramRun::addDevices() {
  std::vector<uint64_t> ofProgram(manifest.programs()->size()), classesOf(ofProgram.size());
  for (uint32_t program : *manifest.rank_program())
    ++ofProgram[program];
  for (const auto &each : ranks.classes())
    ++classesOf[each.program];
  for (uint32_t index = 0; index < ranks.classes().size(); ++index) {
    const format::RankClasses::Class &each = ranks.classes()[index];
    const format::Program &program = *manifest.programs()->Get(each.program);
    SimulatedClass made;
    made.program = each.program;
    made.rank = each.rank;
    made.ranks = ofProgram[each.program] / classesOf[each.program];
    made.arenaBytes = program.arena_bytes();
    made.hostBytes = program.host_bytes();
    out.classes.push_back(made);
    std::string name = program.name() ? program.name()->str() : "program";
    int device =
        out.simulation.addDevice({name + " (rank " + std::to_string(each.rank) + " and alike)"});
    positions.emplace_back(streamsOf(index).items.size());
    std::vector<int> &ofClass = simStreams.emplace_back();
    for (size_t stream = 0; stream < streamsOf(index).items.size(); ++stream)
      ofClass.push_back(out.simulation.addStream(
          {device, stream == 0 ? "compute" : "communication " + std::to_string(stream)}));
    links.emplace_back();
    this->made.emplace_back();
    for (const std::vector<Item> &items : streamsOf(index).items)
      this->made.back().emplace_back(items.size(), -1);
  }
}

// One task for items of several streams, the next of each.
void ProgramRun::addTask(const std::vector<std::pair<uint32_t, size_t>> &at) {
  auto [index, stream] = at.front();
  const Item &item = *next(index, stream);
  InstructionTime time = cost(ranks.classes()[index].rank, *item.source);
  SimTask task;
  task.name = format::describe(manifest, *item.source);
  bool moves = item.channel >= 0;
  task.kind = moves ? SimTaskKind::Transfer : SimTaskKind::Compute;
  task.seconds = time.seconds - time.linkSeconds;
  if (moves && time.linkSeconds > 0) {
    task.bytes = time.linkSeconds; // the link carries one second's worth of bytes per second
    for (auto [member, unused] : at) {
      std::vector<int> &levels = links[member];
      while (levels.size() <= static_cast<size_t>(time.level))
        levels.push_back(
            out.simulation.addLink({"level " + std::to_string(levels.size()) + " of rank " +
                                        std::to_string(ranks.classes()[member].rank),
                                    1.0}));
      if (std::find(task.route.begin(), task.route.end(), levels[time.level]) == task.route.end())
        task.route.push_back(levels[time.level]);
    }
  }
  for (auto [member, of] : at)
    task.streams.push_back(simStreams[member][of]);
  int added = out.simulation.addTask(std::move(task));
  for (auto [member, of] : at) {
    const Item &each = *next(member, of);
    made[member][of][positions[member][of]] = added;
    if (each.waitItem >= 0)
      waits.push_back(
          {added,
           {member, static_cast<uint32_t>(each.waitStream), static_cast<uint32_t>(each.waitItem)}});
    ++positions[member][of];
  }
}

// Makes the task of a communication where all streams that take part have come to it.
bool ProgramRun::addCommunication(uint32_t index, size_t stream) {
  const Item &item = *next(index, stream);
  const Channel channel = streamsOf(index).channels[static_cast<size_t>(item.channel)];
  const Channel there = channel.other(manifest.groups()->Get(channel.group)->size());
  std::vector<std::pair<uint32_t, size_t>> at{{index, stream}};
  for (uint32_t other : ranks.partners(index, channel)) {
    if (other == index && channel.kind == Channel::Collective)
      continue;
    bool found = false;
    for (size_t of = 0; of < streamsOf(other).items.size() && !found; ++of)
      if (const Item *theirs = next(other, of);
          theirs && theirs->channel >= 0 && theirs->ordinal == item.ordinal &&
          streamsOf(other).channels[static_cast<size_t>(theirs->channel)] == there) {
        at.emplace_back(other, of);
        found = true;
      }
    if (!found)
      return false;
  }
  addTask(at);
  return true;
}

bool ProgramRun::goesOn(uint32_t index, size_t stream) {
  const Item *item = next(index, stream);
  if (!item)
    return false;
  if (item->channel >= 0)
    return addCommunication(index, stream);
  addTask({{index, stream}});
  return true;
}

void ProgramRun::addTasks() {
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t index = 0; index < positions.size(); ++index)
      for (size_t stream = 0; stream < positions[index].size(); ++stream)
        while (goesOn(index, stream))
          moved = true;
  }
  for (const auto &[task, at] : waits)
    out.simulation.addDependency(task, made[at[0]][at[1]][at[2]]);
  for (uint32_t index = 0; index < positions.size(); ++index)
    for (size_t stream = 0; stream < made[index].size(); ++stream)
      for (size_t i = 0; i < made[index][stream].size(); ++i) {
        SimulatedRun run = streamsOf(index).items[stream][i].run;
        run.task = made[index][stream][i];
        out.classes[index].runs.push_back(run);
      }
}

// Stream 0 computes, communicates, stands still while what it waits for is communicated, or idles.
void ProgramRun::measureClass(uint32_t index) {
  SimulatedClass &of = out.classes[index];
  double last = 0;
  for (size_t i = 0; i < made[index][0].size(); ++i) {
    const Item &item = streamsOf(index).items[0][i];
    const SimTime &time = out.result.tasks[static_cast<size_t>(made[index][0][i])];
    double taken = time.end - time.start;
    (item.channel >= 0 ? of.exposedSeconds : of.computeSeconds) += taken;
    if (item.waitItem >= 0) {
      // A wait may be for a chain of tasks; all communication in the chain counts, with its
      // packing.
      const std::vector<int> &tasks = made[index][static_cast<size_t>(item.waitStream)];
      for (int k = item.waitItem; k >= 0; --k) {
        const SimTime &other = out.result.tasks[static_cast<size_t>(tasks[static_cast<size_t>(k)])];
        if (other.end <= last)
          break;
        of.exposedSeconds +=
            std::max(0.0, std::min(time.start, other.end) - std::max(last, other.start));
      }
    }
    last = time.end;
  }
  of.idleSeconds = std::max(0.0, out.result.makespan - of.computeSeconds - of.exposedSeconds);
}

// Adds the lifetimes of buffers in device memory: from first to last use in a micro-batch; for sums
// over micro-batches from their first use in the step; persistent buffers always.
void ProgramRun::addMemory(uint32_t index) {
  const format::Program &program = *manifest.programs()->Get(out.classes[index].program);
  auto isKept = [](const format::Buffer &buffer) {
    return buffer.kind() == format::BufferKind::parameter ||
           buffer.kind() == format::BufferKind::optimizer ||
           buffer.kind() == format::BufferKind::input ||
           buffer.kind() == format::BufferKind::output;
  };
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> extents; // per storage: begin and end
  auto extend = [&](uint32_t storage, uint64_t begin, uint64_t bytes) {
    auto [entry, isNew] = extents.try_emplace(storage, begin, begin + bytes);
    entry->second.first = std::min(entry->second.first, begin);
    entry->second.second = std::max(entry->second.second, begin + bytes);
  };
  std::map<uint32_t, bool> kept;
  for (const format::Buffer *buffer : *program.buffers()) {
    if (buffer->space() == format::MemorySpace::host)
      continue;
    if (format::sizeOf(buffer->layer_storages()) == 0) {
      extend(buffer->storage(), buffer->offset(), buffer->bytes());
      kept[buffer->storage()] |= isKept(*buffer);
    }
    for (uint32_t layer = 0; layer < format::sizeOf(buffer->layer_storages()); ++layer) {
      extend(buffer->layer_storages()->Get(layer),
             buffer->offset() + static_cast<uint64_t>(buffer->layer_stride() * layer),
             buffer->bytes());
      kept[buffer->layer_storages()->Get(layer)] |= isKept(*buffer);
    }
  }
  TraceCounter counter{static_cast<int>(index), "memory in use", "bytes", {}};
  int64_t base = 0;
  for (const auto &[storage, isAlways] : kept)
    if (isAlways)
      base += static_cast<int64_t>(extents[storage].second - extents[storage].first);
  std::map<std::pair<uint32_t, uint32_t>, std::pair<double, double>> lives; // storage, micro-batch
  format::Description description;
  for (const SimulatedRun &run : out.classes[index].runs) {
    const format::Instruction &instruction =
        *program.tasks()->Get(run.ofTask)->instructions()->Get(run.instruction);
    format::describe(instruction, description);
    const SimTime &time = out.result.tasks[static_cast<size_t>(run.task)];
    for (const format::Operand &operand : description.operands) {
      if (operand.access == format::Access::None)
        continue;
      const format::Buffer &buffer = *program.buffers()->Get(operand.buffer);
      if (buffer.space() == format::MemorySpace::host)
        continue;
      uint32_t storage = format::sizeOf(buffer.layer_storages()) > 0
                             ? buffer.layer_storages()->Get(run.layer)
                             : buffer.storage();
      if (kept[storage])
        continue;
      bool isSum = buffer.kind() == format::BufferKind::gradient;
      auto [entry, isNew] =
          lives.try_emplace({storage, isSum ? 0 : run.microBatch}, time.start, time.end);
      entry->second.first = std::min(entry->second.first, time.start);
      entry->second.second = std::max(entry->second.second, time.end);
    }
  }
  std::map<double, int64_t> changes;
  for (const auto &[key, life] : lives) {
    auto bytes = static_cast<int64_t>(extents[key.first].second - extents[key.first].first);
    changes[life.first] += bytes;
    changes[life.second] -= bytes;
  }
  int64_t now = base;
  counter.samples.push_back({0, base});
  for (auto [seconds, change] : changes) {
    now += change;
    if (change != 0)
      counter.samples.push_back({seconds, now});
    out.classes[index].peakLiveBytes = std::max(out.classes[index].peakLiveBytes, now);
  }
  out.memory.push_back(std::move(counter));
}

void ProgramRun::measure() {
  double idle = 0, exposed = 0, all = 0;
  for (uint32_t index = 0; index < out.classes.size(); ++index) {
    measureClass(index);
    addMemory(index);
    const SimulatedClass &of = out.classes[index];
    idle += of.idleSeconds * static_cast<double>(of.ranks);
    exposed += of.exposedSeconds * static_cast<double>(of.ranks);
    all += out.result.makespan * static_cast<double>(of.ranks);
  }
  out.bubbleFraction = all > 0 ? idle / all : 0;
  out.exposedFraction = all > 0 ? exposed / all : 0;
}

Result<ProgramSimulation> ProgramRun::run() {
  if (Status found = findClasses(); !found)
    return found.error();
  addDevices();
  addTasks();
  Result<SimResult> result = out.simulation.run();
  if (!result)
    return result.error();
  out.result = std::move(*result);
  measure();
  return std::move(out);
}

} // namespace

Result<ProgramSimulation> simulateProgram(const format::Manifest &manifest,
                                          const InstructionCost &cost) {
  return ProgramRun(manifest, cost).run();
}

} // namespace dtc
