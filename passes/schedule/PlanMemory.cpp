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
struct PlanMemory : dtc::impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    FailureOr<Ordering> ordering = Ordering::create(getOperation());
    if (failed(ordering))
      return signalPassFailure();
    int64_t base = placePersistent();
    std::vector<PlannedBuffer> planned;
    std::vector<exec::BufferOp> buffers;
    findLiveRanges(*ordering, buffers, planned);
    MemoryPlan plan(planned);
    for (auto [index, buffer] : llvm::enumerate(buffers))
      buffer.setOffset(base + plan.getOffset(index));
    int64_t arena = base + plan.getArenaBytes();
    getOperation().setArenaBytes(arena);
    arenaBytes = arena;
    lowerBoundBytes = base + plan.getLowerBound();
    getOperation()->setAttr("exec.lower_bound_bytes",
                            Builder(&getContext()).getI64IntegerAttr(base + plan.getLowerBound()));
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

  // Time is the position of instructions of stream 0. Memory that another stream uses is taken as
  // long as stream 0 does not know that it is free: from the last of its instructions that is over
  // when the use starts to the one that waits for the use.
  void findLiveRanges(const Ordering &ordering, std::vector<exec::BufferOp> &buffers,
                      std::vector<PlannedBuffer> &planned) {
    llvm::DenseMap<Value, unsigned> indices;
    for (auto buffer : getOperation().getBody().getOps<exec::BufferOp>())
      if (!buffer.getPersistent()) {
        indices[buffer] = buffers.size();
        buffers.push_back(buffer);
        int64_t never = ordering.size();
        planned.push_back({static_cast<int64_t>(buffer.getBytes()), never, -1});
      }
    for (unsigned i = 0; i < ordering.size(); ++i) {
      bool compute = ordering.getInstruction(i).getInstructionStream() == 0;
      int64_t begin = compute ? i : ordering.getStart(i) + 1;
      for (Value operand : ordering.getInstruction(i)->getOperands()) {
        auto index = indices.find(exec::getRange(operand).root);
        if (index == indices.end())
          continue;
        PlannedBuffer &live = planned[index->second];
        live.begin = std::min(live.begin, begin);
        live.end = std::max(live.end, ordering.getEnd(i));
      }
    }
    for (PlannedBuffer &live : planned)
      if (live.end < live.begin)
        live = {live.bytes, 0, static_cast<int64_t>(ordering.size())}; // never used
  }
};
} // namespace
