// Moves collectives that may run beside compute to a stream of their own (pass
// dtc-assign-streams).
#include "passes/schedule/Dependences.h"
#include "passes/schedule/GradientCollectives.h"
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"

namespace dtc {
#define GEN_PASS_DEF_ASSIGNSTREAMS
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {
constexpr int64_t kCommunicationStream = 1;

// Adds the events that make streams keep every conflict in program order: a record after the
// earlier instruction, a wait before the later one, unless an earlier wait already covers it.
class EventInsertion {
public:
  EventInsertion(exec::ProgramOp program, size_t inFlight)
      : program(program), inFlight(inFlight),
        numStreams(static_cast<int64_t>(program.getStreams())),
        instructions(getInstructions(program)),
        synced(numStreams, SmallVector<int64_t, 2>(numStreams, -1)) {}

  int64_t run() {
    for (unsigned index = 0; index < instructions.size(); ++index) {
      int64_t stream = instructions[index].getInstructionStream();
      for (int64_t other = 0; other < numStreams; ++other)
        if (other != stream)
          sync(stream, other, lastConflict(index, other), instructions[index]);
      throttle(index);
      remember(index);
    }
    joinAtEnd();
    return numEvents;
  }

private:
  struct Access {
    unsigned index;
    exec::BufferRange range;
    bool write;
  };

  // The last instruction of `stream` before `index` that has to be over when it starts; -1: none.
  int64_t lastConflict(unsigned index, int64_t stream) {
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

  void remember(unsigned index) {
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
  }

  // Makes `stream` wait, at `before`, until instruction `index` of stream `other` is over.
  void sync(int64_t stream, int64_t other, int64_t index, Operation *before) {
    if (index <= synced[stream][other])
      return;
    synced[stream][other] = index;
    OpBuilder builder(program.getContext());
    auto [event, isNew] = events.try_emplace(index, numEvents);
    if (isNew) {
      ++numEvents;
      builder.setInsertionPointAfter(instructions[index]);
      records.push_back(exec::RecordOp::create(builder, instructions[index].getLoc(), event->second,
                                               /*layer_stride=*/0, other,
                                               /*last=*/isInRepeatedTask(instructions[index])));
    }
    // In every run where both are, else with the last micro-batch.
    bool always = before && isRepeated(before) && isRepeated(instructions[index]);
    if (always)
      records[event->second].setLast(false);
    if (before)
      builder.setInsertionPoint(before);
    else
      builder.setInsertionPointToEnd(instructions.back()->getBlock());
    Operation *place = before ? before : instructions.back();
    exec::WaitOp::create(builder, place->getLoc(), event->second, /*layer_stride=*/0, stream,
                         /*last=*/!always && isInRepeatedTask(place));
  }

  static bool isInRepeatedTask(Operation *instruction) {
    return cast<exec::TaskOp>(instruction->getParentOp()).isRepeated();
  }

  // Buffers of communication are taken until stream 0 has waited for their collective, so it waits
  // for the one that is `inFlight` back, with what follows it, before it goes on past the next.
  void throttle(unsigned index) {
    auto collective = dyn_cast<exec::CollectiveOp>(instructions[index].getOperation());
    if (!collective || collective.getStream() == 0 || inFlight == 0 ||
        (getRootOp(collective.getSrc()).getKind() != exec::BufferKind::Communication &&
         getRootOp(collective.getDst()).getKind() != exec::BufferKind::Communication))
      return;
    starts.push_back(index);
    if (starts.size() <= inFlight)
      return;
    // All of the stream before the start of the next newer one.
    int64_t last = starts[starts.size() - inFlight] - 1;
    int64_t stream = instructions[index].getInstructionStream();
    while (instructions[last].getInstructionStream() != stream)
      --last;
    sync(0, stream, last, instructions[index]);
  }

  void joinAtEnd() {
    for (int64_t other = 1; other < numStreams; ++other) {
      int64_t last = -1;
      for (unsigned index = 0; index < instructions.size(); ++index)
        if (instructions[index].getInstructionStream() == other)
          last = index;
      sync(0, other, last, nullptr);
    }
  }

  exec::ProgramOp program;
  size_t inFlight;
  std::vector<unsigned> starts; // of collectives with buffers of their own
  int64_t numStreams;
  std::vector<exec::InstructionOpInterface> instructions;
  llvm::DenseMap<std::pair<Value, int64_t>, std::vector<Access>> accesses;
  // synced[s][t]: the last instruction of stream t that stream s has waited for.
  std::vector<SmallVector<int64_t, 2>> synced;
  llvm::DenseMap<int64_t, int64_t> events; // by recorded instruction
  std::vector<exec::RecordOp> records;     // by event
  int64_t numEvents = 0;
};

struct AssignStreams : dtc::impl::AssignStreamsBase<AssignStreams> {
  using AssignStreamsBase::AssignStreamsBase;

  void runOnOperation() override {
    exec::ProgramOp program = getOperation();
    bool any = false;
    for (exec::CollectiveOp collective : getInstructionsOf<exec::CollectiveOp>(program)) {
      // Streams meet at the end of a step, not of a micro-batch.
      if (!collective.getAsync() || isRepeated(collective))
        continue;
      any = true;
      collective.setStream(kCommunicationStream);
      // Who needs a gathered tensor needs it unpacked.
      if (collective.getKind() == exec::CollectiveKind::AllGather)
        for (exec::CopyOp unpack : getUnpacking(collective))
          unpack.setStream(kCommunicationStream);
    }
    if (!any)
      return;
    program.setStreams(kCommunicationStream + 1);
    program.setEvents(EventInsertion(program, inFlight).run());
  }
};
} // namespace
