// Computes the happens-before relation of a program with several streams.
#include "passes/schedule/Ordering.h"

#include "passes/schedule/RunOrder.h"
#include "passes/schedule/UnrollLayers.h"

using namespace mlir;
using namespace dtc;

std::vector<exec::InstructionOpInterface> dtc::getInstructions(exec::ProgramOp program) {
  std::vector<exec::InstructionOpInterface> instructions;
  for (auto task : program.getBody().getOps<exec::TaskOp>())
    for (Operation &op : task.getBody().front())
      instructions.push_back(cast<exec::InstructionOpInterface>(op));
  return instructions;
}

bool dtc::comesBefore(Operation *a, Operation *b) {
  if (a->getBlock() == b->getBlock())
    return a->isBeforeInBlock(b);
  return a->getParentOp()->isBeforeInBlock(b->getParentOp());
}

bool dtc::isRepeated(Operation *instruction) {
  return cast<exec::TaskOp>(instruction->getParentOp()).isRepeated() &&
         !cast<exec::InstructionOpInterface>(instruction).runsLastOnly();
}

FailureOr<Ordering> Ordering::create(exec::ProgramOp program) {
  for (auto task : program.getBody().getOps<exec::TaskOp>())
    for (auto repeat : task.getBody().getOps<exec::RepeatOp>())
      return repeat.emitOpError()
             << "stands where every instruction should; run dtc-roll-layers last";
  Ordering result;
  result.instructions = getInstructions(program);
  result.numStreams = program.getStreams();
  result.lastMicroBatch = static_cast<int64_t>(program.getMicroBatches()) - 1;
  for (exec::InstructionOpInterface instruction : result.instructions) {
    result.streams.push_back(instruction.getInstructionStream());
    result.runsOf.push_back({instruction->getParentOp(), isRepeated(instruction)});
  }
  if (failed(result.findClocks()))
    return failure();
  result.findClocksOfRuns();
  result.findInterleaved(program);
  result.findEnds();
  return result;
}

LogicalResult Ordering::findClocks() {
  std::vector<Clock> now(numStreams, Clock(numStreams, -1)); // per stream
  llvm::DenseMap<int64_t, unsigned> records;
  for (unsigned index = 0; index < size(); ++index) {
    Operation *op = instructions[index];
    Clock &clock = now[streamOf(index)];
    if (isa<exec::RecordOp>(op)) {
      auto [before, isNew] = records.try_emplace(eventOf(index), index);
      if (!isNew && streamOf(before->second) != streamOf(index))
        return op->emitOpError() << "records event " << eventOf(index) << " on stream "
                                 << streamOf(index) << ", and one before it on stream "
                                 << streamOf(before->second);
      before->second = index;
    }
    if (isa<exec::WaitOp>(op)) {
      auto record = records.find(eventOf(index));
      if (record == records.end())
        return op->emitOpError() << "waits for event " << eventOf(index)
                                 << ", which no instruction before it records";
      for (auto [mine, other] : llvm::zip(clock, clocks[record->second]))
        mine = std::max(mine, other);
    }
    clock[streamOf(index)] = index;
    clocks.push_back(clock);
  }
  return success();
}

void Ordering::findClocksOfRuns() {
  clocksOfRun.resize(size());
  std::vector<Clock> now(numStreams);
  llvm::DenseMap<int64_t, unsigned> records; // records of the task
  Operation *task = nullptr;
  for (unsigned index = 0; index < size(); ++index) {
    if (!isInEveryRun(index))
      continue;
    if (task != runsOf[index].task) {
      task = runsOf[index].task;
      records.clear();
      now.assign(numStreams, Clock(numStreams, -1));
    }
    Operation *op = instructions[index];
    Clock &clock = now[streamOf(index)];
    if (isa<exec::RecordOp>(op))
      records[eventOf(index)] = index;
    if (isa<exec::WaitOp>(op))
      if (auto record = records.find(eventOf(index)); record != records.end())
        for (auto [mine, other] : llvm::zip(clock, clocksOfRun[record->second]))
          mine = std::max(mine, other);
    clock[streamOf(index)] = index;
    clocksOfRun[index] = clock;
  }
}

// Finds, for each instruction i, the first instruction of stream 0 whose clock has reached i.
void Ordering::findEnds() {
  auto count = static_cast<int64_t>(size());
  ends.assign(size(), count);
  auto find = [&](const std::vector<Clock> &by, bool everyRun) {
    std::vector<std::vector<unsigned>> byStream(numStreams);
    for (unsigned index = 0; index < size(); ++index)
      if (!by[index].empty())
        byStream[streamOf(index)].push_back(index);
    std::vector<size_t> next(numStreams, 0);
    for (unsigned index : byStream[0])
      for (size_t stream = 0; stream < numStreams; ++stream)
        for (size_t &i = next[stream];
             i < byStream[stream].size() && byStream[stream][i] <= by[index][stream]; ++i)
          if (unsigned over = byStream[stream][i]; isInEveryRun(over) == everyRun)
            ends[over] = index;
  };
  find(clocks, false);
  find(clocksOfRun, true);
  for (unsigned index = 0; index < size(); ++index)
    if (int64_t end = ends[index]; end < count)
      if (int task = interleavedOf[end]; task >= 0 && task != interleavedOf[index])
        ends[index] = interleaved[task].end - 1;
}

void Ordering::findInterleaved(exec::ProgramOp program) {
  interleavedOf.assign(size(), -1);
  if (!RunOrder(program).isInterleaved())
    return;
  int64_t index = 0, before = -1;
  for (auto task : program.getBody().getOps<exec::TaskOp>()) {
    int64_t begin = index, last = before;
    for (; index < size() && instructions[index]->getParentOp() == task; ++index) {
      if (task.isRepeated())
        interleavedOf[index] = static_cast<int>(interleaved.size());
      if (streams[index] == 0)
        last = index;
    }
    if (task.isRepeated())
      interleaved.push_back({begin, index, before});
    before = last;
  }
}

bool Ordering::isBefore(unsigned a, unsigned b) const {
  auto isOverAt = [&](int64_t index) {
    return index >= 0 && static_cast<int64_t>(a) <= clocks[index][streamOf(a)];
  };
  if (a < b && areInOneRun(a, b))
    return static_cast<int64_t>(a) <= clocksOfRun[b][streamOf(a)];
  if (a >= b || !isOverAt(b))
    return false;
  int task = interleavedOf[b];
  return task < 0 || task == interleavedOf[a] || !isInEveryRun(b) ||
         isOverAt(interleaved[task].before);
}

int64_t Ordering::eventOf(unsigned index) const {
  auto task = cast<exec::TaskOp>(instructions[index]->getParentOp());
  return getEvent(instructions[index], /*layer=*/0, task.getPerMicroBatch() ? lastMicroBatch : 0);
}

int64_t Ordering::getStart(unsigned index) const {
  return (isInEveryRun(index) ? clocksOfRun : clocks)[index][0];
}

bool Ordering::isForked(unsigned index) const { return clocksOfRun[index][0] >= 0; }

bool Ordering::isJoined(unsigned index) const {
  int64_t end = ends[index];
  return end < static_cast<int64_t>(size()) && areInOneRun(index, end);
}
