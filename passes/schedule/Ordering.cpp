// What is known to happen before what in a program with several streams.
#include "passes/schedule/Ordering.h"

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
  size_t numStreams = program.getStreams(), count = result.size();
  SmallVector<int64_t, 2> none(numStreams, -1);
  std::vector<SmallVector<int64_t, 2>> now(numStreams, none); // per stream: its clock
  llvm::DenseMap<int64_t, unsigned> records;
  for (unsigned index = 0; index < count; ++index) {
    Operation *op = result.instructions[index];
    unsigned stream = result.instructions[index].getInstructionStream();
    SmallVector<int64_t, 2> &clock = now[stream];
    if (auto record = dyn_cast<exec::RecordOp>(op))
      if (!records.try_emplace(record.getEvent(), index).second)
        return op->emitOpError() << "records event " << record.getEvent() << " a second time";
    if (auto wait = dyn_cast<exec::WaitOp>(op)) {
      auto record = records.find(wait.getEvent());
      if (record == records.end())
        return op->emitOpError() << "waits for event " << wait.getEvent()
                                 << ", which no instruction before it records";
      for (auto [mine, other] : llvm::zip(clock, result.clocks[record->second]))
        mine = std::max(mine, other);
    }
    clock[stream] = index;
    result.clocks.push_back(clock);
    result.streams.push_back(stream);
  }
  result.findInterleaved(program);
  // ends: stream 0 knows of instruction i from the first of its instructions whose clock has
  // reached i.
  result.ends.assign(count, static_cast<int64_t>(count));
  std::vector<std::vector<unsigned>> byStream(numStreams);
  for (unsigned index = 0; index < count; ++index)
    byStream[result.streams[index]].push_back(index);
  std::vector<size_t> next(numStreams, 0);
  for (unsigned index : byStream[0])
    for (size_t stream = 0; stream < numStreams; ++stream)
      for (size_t &i = next[stream];
           i < byStream[stream].size() && byStream[stream][i] <= result.clocks[index][stream]; ++i)
        result.ends[byStream[stream][i]] = index;
  for (unsigned index = 0; index < count; ++index)
    if (int64_t end = result.ends[index]; end < static_cast<int64_t>(count))
      if (int task = result.interleavedOf[end]; task >= 0 && task != result.interleavedOf[index])
        result.ends[index] = result.interleaved[task].end - 1;
  return result;
}

void Ordering::findInterleaved(exec::ProgramOp program) {
  interleavedOf.assign(size(), -1);
  if (program.getSlots() == 1)
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
  if (a >= b || !isOverAt(b))
    return false;
  int task = interleavedOf[b];
  return task < 0 || task == interleavedOf[a] || !isRepeated(getInstruction(b)) ||
         isOverAt(interleaved[task].before);
}

int64_t Ordering::getStart(unsigned index) const { return clocks[index][0]; }
