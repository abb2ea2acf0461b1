// Moves transfers between stages to streams of their own (pass dtc-overlap-transfers), and those of
// rings of ranks, if dtc-assign-streams has not done so.
//
// 1. Every channel of the transfers gets a stream.
// 2. For each buffer that is sent or received, the tasks that use it are ordered one after another,
// each on one stream. Two uses on different streams, one of which writes, are ordered by an event
// of the earlier one: it is recorded after its last use, and waited for before the first use of the
// later one. The same wait delays the next user of the slot, as the event has the slots of the
// buffer and a wait is for its last record.
// 3. The first users of a slot have nothing to wait for: a task @begin records these events.
#include "passes/schedule/Dependences.h"
#include "passes/schedule/EventInsertion.h"
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/RunOrder.h"

#include "llvm/ADT/MapVector.h"

#include <map>

namespace dtc {
#define GEN_PASS_DEF_OVERLAPTRANSFERS
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {
constexpr llvm::StringLiteral kChannel = "exec.channel";
constexpr llvm::StringLiteral kBegin = "begin";

// The uses of a buffer by one task on one stream.
struct Part {
  exec::TaskOp task;
  int64_t stream;
  Operation *first, *last;
  bool writes;
  int64_t event = -1; // the event recorded after it, for slot 0
};

class TransferStreams {
public:
  explicit TransferStreams(exec::ProgramOp program)
      : program(program), isRepeated(program.getMicroBatches() > 1),
        numEvents(static_cast<int64_t>(program.getEvents())) {}

  void run() {
    if (!assignStreams())
      return;
    RunOrder order(program);
    for (auto &[root, parts] : findParts())
      addEvents(cast<exec::BufferOp>(root), parts, order);
    program.setEvents(numEvents);
    if (!atBegin.empty())
      addBegin();
  }

private:
  bool assignStreams() {
    std::map<int64_t, SmallVector<exec::InstructionOpInterface>> byChannel;
    program.walk([&](exec::InstructionOpInterface op) {
      if (auto channel = op->getAttrOfType<IntegerAttr>(kChannel))
        byChannel[channel.getInt()].push_back(op);
    });
    auto stream = static_cast<int64_t>(program.getStreams());
    for (auto &[channel, transfers] : byChannel) {
      for (exec::InstructionOpInterface transfer : transfers) {
        transfer.setInstructionStream(stream);
        transfer->removeAttr(kChannel);
        for (Value buffer : transfer->getOperands())
          isTransferred.insert(getRootOp(buffer));
      }
      ++stream;
    }
    program.setStreams(stream);
    return !byChannel.empty();
  }

  llvm::MapVector<Operation *, std::vector<Part>> findParts() {
    llvm::MapVector<Operation *, std::vector<Part>> partsOf;
    for (exec::InstructionOpInterface op : getInstructions(program)) {
      auto task = cast<exec::TaskOp>(op->getParentOp());
      SmallVector<Value> written = op.getWrittenBuffers();
      for (Value operand : op->getOperands()) {
        exec::BufferOp root = getRootOp(operand);
        if (!isTransferred.contains(root))
          continue;
        std::vector<Part> &parts = partsOf[root];
        int64_t stream = op.getInstructionStream();
        auto known = llvm::find_if(
            parts, [&](const Part &part) { return part.task == task && part.stream == stream; });
        if (known == parts.end())
          known = parts.insert(parts.end(), {task, stream, op, op, false});
        known->last = op;
        known->writes |= llvm::is_contained(written, operand);
      }
    }
    return partsOf;
  }

  void addEvents(exec::BufferOp root, std::vector<Part> &parts, const RunOrder &order) {
    int64_t slots = 1;
    if (isRepeated) {
      std::vector<Operation *> tasks;
      for (const Part &part : parts)
        tasks.push_back(part.task);
      // A parameter, or a part of one, has one buffer for the whole step and needs no slots.
      if (!root.getPersistent() && !root.getCarried()) {
        slots = std::max<int64_t>(root.getSlots().value_or(1), order.getSlots(tasks));
        root.setSlots(slots);
      }
    }
    for (size_t b = 0; b < parts.size(); ++b)
      for (size_t a = 0; a < parts.size(); ++a)
        if (wants(parts, a, b))
          wait(parts[a], parts[b], slots, /*isFirst=*/b < a);
  }

  // True if `b` has to wait for `a`: for the same micro-batch if `a` comes before, else for the one
  // that had the slot.
  bool wants(const std::vector<Part> &parts, size_t a, size_t b) const {
    if (parts[a].stream == parts[b].stream || (!parts[a].writes && !parts[b].writes) ||
        (b < a && !isRepeated))
      return false;
    // The stream of `b` has already waited.
    for (size_t between = a + 1; a < b && between < b; ++between)
      if (parts[between].stream == parts[b].stream && wants(parts, a, between))
        return false;
    return true;
  }

  void wait(Part &a, Part &b, int64_t slots, bool isFirst) {
    OpBuilder builder(program.getContext());
    if (a.event < 0) {
      a.event = numEvents;
      numEvents += slots;
      builder.setInsertionPointAfter(a.last);
      exec::RecordOp::create(builder, a.last->getLoc(), a.event, /*layer_stride=*/0, a.stream,
                             /*last=*/false, slots);
    }
    builder.setInsertionPoint(b.first);
    exec::WaitOp::create(builder, b.first->getLoc(), a.event, /*layer_stride=*/0, b.stream,
                         /*last=*/false, slots);
    if (isFirst)
      atBegin.insert({a.event, {a.stream, slots}});
  }

  void addBegin() {
    OpBuilder builder(*program.getBody().getOps<exec::TaskOp>().begin());
    auto task = exec::TaskOp::create(builder, program.getLoc(), kBegin, /*perMicroBatch=*/false);
    builder.setInsertionPointToEnd(&task.getBody().front());
    for (auto [event, where] : atBegin)
      for (int64_t slot = 0; slot < where.second; ++slot)
        exec::RecordOp::create(builder, program.getLoc(), event + slot, /*layer_stride=*/0,
                               where.first, /*last=*/false);
    for (auto entry : program.getBody().getOps<exec::EntryOp>()) {
      SmallVector<Attribute> tasks(entry.getTasks().getValue());
      SmallVector<int64_t> microBatches(entry.getMicroBatches());
      tasks.insert(tasks.begin(), FlatSymbolRefAttr::get(program.getContext(), kBegin));
      microBatches.insert(microBatches.begin(), -1);
      entry.setTasksAttr(builder.getArrayAttr(tasks));
      entry.setMicroBatches(microBatches);
    }
  }

  exec::ProgramOp program;
  bool isRepeated;
  int64_t numEvents;
  llvm::SmallPtrSet<Operation *, 8> isTransferred;
  std::map<int64_t, std::pair<int64_t, int64_t>> atBegin; // keyed by event: its stream and slots
};

struct OverlapTransfers : dtc::impl::OverlapTransfersBase<OverlapTransfers> {
  void runOnOperation() override {
    exec::ProgramOp program = getOperation();
    if (int64_t numStreams = assignRingStreams(program); numStreams > 1) {
      program.setStreams(numStreams);
      program.setEvents(EventInsertion(program, /*inFlight=*/0).run());
    }
    TransferStreams(program).run();
  }
};
} // namespace
