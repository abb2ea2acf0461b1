// Inserts the events that order several streams of a program.
#include "passes/schedule/EventInsertion.h"

#include "passes/schedule/Dependences.h"
#include "passes/schedule/ExecutionLabels.h"
#include "passes/schedule/Ordering.h"

#include <utility>

using namespace mlir;
using namespace dtc;

int64_t dtc::assignRingStreams(exec::ProgramOp program) {
  int64_t numStreams = 1;
  for (exec::InstructionOpInterface op : getInstructions(program)) {
    if (!op->hasAttr(kRingLabel))
      continue;
    op->removeAttr(kRingLabel);
    op.setInstructionStream(isa<exec::SendOp>(op) ? kRingSendStream : kRingReceiveStream);
    numStreams = kRingReceiveStream + 1;
  }
  return numStreams;
}

EventInsertion::EventInsertion(exec::ProgramOp program, size_t inFlight)
    : program(program), inFlight(inFlight), numStreams(static_cast<int64_t>(program.getStreams())),
      instructions(getInstructions(program)), streams(static_cast<size_t>(numStreams)) {
  for (StreamState &state : streams)
    state.synced = state.syncedInEveryRun =
        llvm::SmallVector<int64_t, 3>(static_cast<size_t>(numStreams), -1);
}

int64_t EventInsertion::run() {
  for (unsigned index = 0; index < instructions.size(); ++index) {
    int64_t stream = instructions[index].getInstructionStream();
    for (int64_t other = 0; other < numStreams; ++other)
      if (other != stream)
        sync(stream, other, lastConflict(index, other), instructions[index]);
    if (stream != 0)
      fork(index);
    throttle(index);
    waitForSends(index);
    remember(index);
    if (index + 1 == instructions.size() || taskOf(index + 1) != taskOf(index))
      join(taskOf(index));
  }
  joinAtEnd();
  return numEvents;
}

exec::TaskOp EventInsertion::taskOf(unsigned index) const {
  return cast<exec::TaskOp>(exec::InstructionOpInterface(instructions[index])->getParentOp());
}

// Returns the last instruction of `stream` before `index` that must be complete when `index`
// starts; -1 if there is none.
int64_t EventInsertion::lastConflict(unsigned index, int64_t stream) {
  int64_t last = -1;
  auto search = [&](Value buffer, bool write) {
    exec::BufferRange range = exec::getRange(buffer);
    for (const Access &access : llvm::reverse(accesses[{range.root, stream}])) {
      if (static_cast<int64_t>(access.index) <= last)
        break;
      if ((write || access.write) && range.overlaps(access.range))
        last = access.index;
    }
  };
  for (Value buffer : instructions[index].getReadBuffers())
    search(buffer, false);
  for (Value buffer : instructions[index].getWrittenBuffers())
    search(buffer, true);
  return last;
}

void EventInsertion::remember(unsigned index) {
  exec::InstructionOpInterface op = instructions[index];
  int64_t stream = op.getInstructionStream();
  auto add = [&](Value buffer, bool write) {
    exec::BufferRange range = exec::getRange(buffer);
    accesses[{range.root, stream}].push_back({index, range, write});
  };
  for (Value buffer : op.getReadBuffers())
    add(buffer, false);
  for (Value buffer : op.getWrittenBuffers())
    add(buffer, true);
  StreamState &state = streams[static_cast<size_t>(stream)];
  bool everyRun = isRepeated(op);
  if (everyRun || !taskOf(index).isRepeated()) {
    state.lastTask = taskOf(index);
    state.lastOfRun = index;
  }
}

exec::RecordOp EventInsertion::createRecord(OpBuilder &builder, Location location, int64_t stream,
                                            bool last) {
  return exec::RecordOp::create(builder, location, numEvents++, /*layer_stride=*/0, stream, last);
}

// Makes `stream` wait, at `before` or at the end of `block`, until instruction `index` of stream
// `other` is complete: in every run if both are in every run, else in the last micro-batch.
void EventInsertion::sync(int64_t stream, int64_t other, int64_t index, Operation *before,
                          Block *block) {
  if (index < 0)
    return;
  exec::InstructionOpInterface recorded = instructions[static_cast<size_t>(index)];
  auto waiting = cast<exec::TaskOp>(before ? before->getParentOp() : block->getParentOp());
  bool inRuns = isRepeated(recorded) && (before ? isRepeated(before) : waiting.isRepeated());
  StreamState &state = streams[static_cast<size_t>(stream)];
  int64_t &synced = (inRuns ? state.syncedInEveryRun : state.synced)[static_cast<size_t>(other)];
  if (index <= synced)
    return;
  synced = index;
  int64_t &ofLast = state.synced[static_cast<size_t>(other)];
  ofLast = std::max(ofLast, index);
  exec::RecordOp &record = records[index];
  OpBuilder builder(program.getContext());
  if (!record) {
    builder.setInsertionPointAfter(recorded);
    record = createRecord(builder, recorded.getLoc(), other,
                          cast<exec::TaskOp>(recorded->getParentOp()).isRepeated());
  }
  if (inRuns)
    record.setLast(false);
  if (before)
    builder.setInsertionPoint(before);
  else
    builder.setInsertionPointToEnd(block);
  Location location = before ? before->getLoc() : block->back().getLoc();
  exec::WaitOp::create(builder, location, record.getEvent(), /*layer_stride=*/0, stream,
                       /*last=*/!inRuns && waiting.isRepeated());
}

// True for streams whose instructions start when stream 0 reaches their place, so that they take
// memory no earlier.
static bool startsInOrder(int64_t stream) {
  return stream == kGatherStream || stream == kRingSendStream || stream == kRingReceiveStream;
}

// Makes another stream start after stream 0 in the run of a task.
void EventInsertion::fork(unsigned index) {
  exec::InstructionOpInterface op = instructions[index];
  int64_t stream = op.getInstructionStream();
  StreamState &state = streams[static_cast<size_t>(stream)];
  exec::TaskOp task = taskOf(index);
  bool inRuns = isRepeated(op);
  if (!startsInOrder(stream) && (!inRuns || state.forkedIn == task))
    return;
  const StreamState &compute = streams[0];
  if (compute.lastTask == task || (!task.isRepeated() && compute.lastOfRun >= 0)) {
    sync(stream, 0, compute.lastOfRun, op);
  } else if (task.isRepeated() && state.forkedIn != task) {
    // No instruction of stream 0 precedes it in the task, so stream 0 records at the beginning of
    // the task.
    OpBuilder builder(&task.getBody().front(), task.getBody().front().begin());
    exec::RecordOp record = createRecord(builder, op.getLoc(), 0, /*last=*/!inRuns);
    builder.setInsertionPoint(op);
    exec::WaitOp::create(builder, op.getLoc(), record.getEvent(), /*layer_stride=*/0, stream,
                         /*last=*/!inRuns);
  }
  state.forkedIn = task;
}

// Limits the collectives in flight. Their buffers are in use until stream 0 has waited for them, so
// before the next collective stream 0 waits for the one that is `inFlight` back, with the
// instructions that follow it. Collectives of every micro-batch have one in flight, while the next
// one is packed.
void EventInsertion::throttle(unsigned index) {
  auto collective = dyn_cast<exec::CollectiveOp>(instructions[index].getOperation());
  int64_t stream = instructions[index].getInstructionStream();
  if (!collective || stream == 0 || stream == kGatherStream)
    return;
  bool ofMicroBatch = getExecution(collective).has_value();
  size_t most = ofMicroBatch ? 1 : inFlight;
  auto isOwn = [](Value buffer) {
    return getRootOp(buffer).getKind() == exec::BufferKind::Communication;
  };
  if (most == 0 || (!ofMicroBatch && !isOwn(collective.getSrc()) && !isOwn(collective.getDst())))
    return;
  std::vector<unsigned> &starts = streams[static_cast<size_t>(stream)].starts;
  if (ofMicroBatch && !starts.empty() && taskOf(starts.back()) != taskOf(index))
    starts.clear(); // the end of the task has waited for all
  starts.push_back(index);
  if (starts.size() <= most)
    return;
  // Waits for all instructions of the stream before the start of the next newer collective.
  int64_t last = starts[starts.size() - most] - 1;
  while (instructions[static_cast<size_t>(last)].getInstructionStream() != stream)
    --last;
  sync(0, stream, last, instructions[index]);
}

// Makes stream 0 wait for the sends of a step of a ring before those of the next one, so that what
// is received then may use their memory again: before the last instruction of the step, after which
// receives start. The sends of a step have no compute between them.
void EventInsertion::waitForSends(unsigned index) {
  auto send = dyn_cast<exec::SendOp>(instructions[index].getOperation());
  if (!send || instructions[index].getInstructionStream() != kRingSendStream)
    return;
  StreamState &state = streams[kRingSendStream];
  int64_t last = std::exchange(state.lastSend, index);
  if (last >= 0 && taskOf(static_cast<unsigned>(last)) == taskOf(index) &&
      streams[0].lastOfRun > last)
    sync(0, kRingSendStream, last, instructions[static_cast<size_t>(streams[0].lastOfRun)]);
}

// Makes stream 0 wait for the instructions of other streams that every run of the task has.
void EventInsertion::join(exec::TaskOp task) {
  if (!task.isRepeated())
    return;
  for (int64_t other = 1; other < numStreams; ++other)
    if (const StreamState &state = streams[static_cast<size_t>(other)]; state.lastTask == task)
      sync(0, other, state.lastOfRun, nullptr, &task.getBody().front());
}

void EventInsertion::joinAtEnd() {
  for (int64_t other = 1; other < numStreams; ++other) {
    int64_t last = -1;
    for (unsigned index = 0; index < instructions.size(); ++index)
      if (instructions[index].getInstructionStream() == other)
        last = index;
    sync(0, other, last, nullptr, instructions.back()->getBlock());
  }
}
