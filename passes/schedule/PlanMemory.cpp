// Gives every buffer its place in the arena (pass dtc-plan-memory).
#include "passes/schedule/Dependences.h"
#include "passes/schedule/MemoryPlan.h"
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"

namespace dtc {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {
// Buffers that share one range of the arena, with the times at which they are live.
struct Region {
  std::vector<exec::BufferOp> buffers;
  std::vector<PlannedBuffer> live;
};

struct PlanMemory : dtc::impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    exec::ProgramOp program = getOperation();
    FailureOr<Ordering> ordering = Ordering::create(program);
    if (failed(ordering))
      return signalPassFailure();
    int64_t end = placePersistent(), lowerBound = end;
    if (program.getSlots() > 1)
      markPerSlot(*ordering);
    Region perSlot, others;
    findLiveRanges(*ordering, perSlot, others);

    auto slots = static_cast<int64_t>(program.getSlots());
    MemoryPlan slotPlan = place(perSlot, end);
    program.setSlotBytes(slotPlan.getArenaBytes());
    end += slots * slotPlan.getArenaBytes();
    lowerBound += slots * slotPlan.getLowerBound();

    MemoryPlan plan = place(others, end);
    end += plan.getArenaBytes();
    lowerBound += plan.getLowerBound();

    program.setArenaBytes(end);
    arenaBytes = end;
    lowerBoundBytes = lowerBound;
    program->setAttr("exec.lower_bound_bytes",
                     Builder(&getContext()).getI64IntegerAttr(lowerBound));
  }

  // What is kept between steps lies first, in order of declaration.
  int64_t placePersistent() {
    int64_t base = 0;
    for (auto buffer : getOperation().getBody().getOps<exec::BufferOp>()) {
      if (!buffer.getPersistent())
        continue;
      buffer.setOffset(base);
      base += static_cast<int64_t>(llvm::alignTo(buffer.getBytes(), kBufferAlignment));
    }
    return base;
  }

  static MemoryPlan place(const Region &region, int64_t base) {
    MemoryPlan plan(region.live);
    for (auto [index, buffer] : llvm::enumerate(region.buffers))
      exec::BufferOp(buffer).setOffset(base + plan.getOffset(index));
    return plan;
  }

  // Between two tasks of a micro-batch others may run, which want these buffers for theirs.
  void markPerSlot(const Ordering &ordering) {
    llvm::DenseMap<Value, Operation *> taskOf;
    for (unsigned i = 0; i < ordering.size(); ++i) {
      auto task = cast<exec::TaskOp>(ordering.getInstruction(i)->getParentOp());
      if (!task.getPerMicroBatch())
        continue;
      for (Value operand : ordering.getInstruction(i)->getOperands()) {
        exec::BufferOp root = getRootOp(operand);
        bool isFirst = taskOf.try_emplace(root, task).second;
        if (!isFirst && taskOf[root] != task && !root.getPersistent() && !root.getCarried())
          root.setPerSlot(true);
      }
    }
  }

  // Time is the position of instructions of stream 0. Memory that another stream uses is taken as
  // long as stream 0 does not know that it is free: from the last of its instructions that is over
  // when the use starts to the one that waits for the use. What is carried is live in all that
  // several micro-batches run: the one before has filled it, the next one adds to it.
  void findLiveRanges(const Ordering &ordering, Region &perSlot, Region &others) {
    llvm::DenseMap<Value, PlannedBuffer> live;
    int64_t never = ordering.size(), lastRepeated = -1;
    for (auto buffer : getOperation().getBody().getOps<exec::BufferOp>())
      if (!buffer.getPersistent())
        live[buffer] = {static_cast<int64_t>(buffer.getBytes()), never, -1};
    for (unsigned i = 0; i < ordering.size(); ++i) {
      bool compute = ordering.getInstruction(i).getInstructionStream() == 0;
      if (isRepeated(ordering.getInstruction(i)))
        lastRepeated = i;
      int64_t begin = compute ? i : ordering.getStart(i) + 1;
      for (Value operand : ordering.getInstruction(i)->getOperands()) {
        auto entry = live.find(exec::getRange(operand).root);
        if (entry == live.end())
          continue;
        PlannedBuffer &range = entry->second;
        range.begin = std::min(range.begin, begin);
        range.end = std::max(range.end, ordering.getEnd(i));
      }
    }
    for (auto buffer : getOperation().getBody().getOps<exec::BufferOp>()) {
      if (buffer.getPersistent())
        continue;
      PlannedBuffer range = live.lookup(buffer);
      if (range.end < range.begin)
        range = {range.bytes, 0, never}; // never used
      if (buffer.getCarried())
        range = {range.bytes, 0, std::max(range.end, lastRepeated)};
      Region &region = buffer.getPerSlot() ? perSlot : others;
      region.buffers.push_back(buffer);
      region.live.push_back(range);
    }
  }
};
} // namespace
