// Gives every buffer its offset in the arena (pass dtc-plan-memory).
#include "passes/schedule/Dependences.h"
#include "passes/schedule/MemoryPlan.h"
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/RunOrder.h"

#include "llvm/ADT/MapVector.h"

namespace dtc {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {
// Buffers that share one range of an arena, with their live ranges.
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
    RunOrder order(program);
    markSlots(*ordering, order);
    auto [bytes, bound] = planArena(*ordering, order, /*host=*/false);
    auto [onHost, boundOnHost] = planArena(*ordering, order, /*host=*/true);
    program.setArenaBytes(bytes);
    program.setHostBytes(onHost);
    arenaBytes = bytes;
    hostBytes = onHost;
    lowerBoundBytes = bound + boundOnHost;
    program->setAttr("exec.lower_bound_bytes",
                     Builder(&getContext()).getI64IntegerAttr(bound + boundOnHost));
  }

  // Returns the bytes of the arena of one memory, and the bytes that no plan can do without.
  std::pair<int64_t, int64_t> planArena(const Ordering &ordering, const RunOrder &order,
                                        bool host) {
    int64_t end =
        placeInOrder(0, host, [](exec::BufferOp buffer) { return buffer.getPersistent(); });
    end = placeInOrder(end, host,
                       [](exec::BufferOp buffer) { return buffer.getSlots().has_value(); });
    MemoryPlan plan = place(findLiveRanges(ordering, order, host), end);
    return {end + plan.getArenaBytes(), end + plan.getLowerBound()};
  }

  // Places the buffers for which `belongs` holds in order of declaration: those that persist
  // between steps, then those with slots, which share no byte with others.
  int64_t placeInOrder(int64_t base, bool host, llvm::function_ref<bool(exec::BufferOp)> belongs) {
    for (auto buffer : getOperation().getBody().getOps<exec::BufferOp>()) {
      if (buffer.getHost() != host || !belongs(buffer))
        continue;
      buffer.setOffset(base);
      base += static_cast<int64_t>(llvm::alignTo(buffer.getAllBytes(), kBufferAlignment));
    }
    return base;
  }

  static MemoryPlan place(const Region &region, int64_t base) {
    MemoryPlan plan(region.live);
    for (auto [index, buffer] : llvm::enumerate(region.buffers))
      exec::BufferOp(buffer).setOffset(base + plan.getOffset(index));
    return plan;
  }

  // Gives slots to buffers that are kept from task to task while other micro-batches run, as many
  // as the order requires.
  void markSlots(const Ordering &ordering, const RunOrder &order) {
    llvm::MapVector<Operation *, std::vector<Operation *>> tasksOf;
    for (unsigned i = 0; i < ordering.size(); ++i) {
      auto task = cast<exec::TaskOp>(ordering.getInstruction(i)->getParentOp());
      if (!task.isRepeated())
        continue;
      for (Value operand : ordering.getInstruction(i)->getOperands()) {
        std::vector<Operation *> &tasks = tasksOf[getRootOp(operand)];
        if (tasks.empty() || tasks.back() != task)
          tasks.push_back(task);
      }
    }
    for (auto &[root, tasks] : tasksOf) {
      auto buffer = cast<exec::BufferOp>(root);
      if (tasks.size() < 2 || buffer.getPersistent() || buffer.getCarried())
        continue;
      if (auto slots = static_cast<uint64_t>(order.getSlots(tasks)))
        buffer.setSlots(std::max(slots, buffer.getSlots().value_or(1)));
    }
  }

  // Computes live ranges. Time is the position of instructions of stream 0. Memory that another
  // stream uses is live from the last instruction of stream 0 that is complete when the use starts
  // to the one that waits for the use. A carried sum is live in everything that several
  // micro-batches run: the previous one has filled it, the next one adds to it. If several
  // micro-batches are interleaved, an earlier task may run once more after the last run of a later
  // one, and so beside the results of that run.
  Region findLiveRanges(const Ordering &ordering, const RunOrder &order, bool host) {
    llvm::DenseMap<Value, PlannedBuffer> live;
    llvm::MapVector<Operation *, int64_t> begins; // first instruction of each task of micro-batches
    int64_t never = ordering.size(), lastRepeated = -1;
    for (auto buffer : getOperation().getBody().getOps<exec::BufferOp>())
      if (buffer.getHost() == host && !buffer.getPersistent() && !buffer.getSlots())
        live[buffer] = {static_cast<int64_t>(buffer.getBytes()), never, -1};
    for (unsigned i = 0; i < ordering.size(); ++i) {
      bool compute = ordering.getInstruction(i).getInstructionStream() == 0;
      auto task = cast<exec::TaskOp>(ordering.getInstruction(i)->getParentOp());
      if (task.isRepeated())
        begins.try_emplace(task, i);
      if (isRepeated(ordering.getInstruction(i)))
        lastRepeated = i;
      int64_t begin = compute ? i : ordering.getStart(i) + 1;
      if (task.isRepeated() && !isRepeated(ordering.getInstruction(i))) {
        Operation *from = begin > 0 ? ordering.getInstruction(begin - 1)->getParentOp() : task;
        for (auto [before, first] : begins)
          if (first < begin && (order.runsBehind(before, task) || order.runsBehind(before, from)))
            begin = first;
      }
      for (Value operand : ordering.getInstruction(i)->getOperands()) {
        auto entry = live.find(exec::getRange(operand).root);
        if (entry == live.end())
          continue;
        PlannedBuffer &range = entry->second;
        range.begin = std::min(range.begin, begin);
        range.end = std::max(range.end, ordering.getEnd(i));
      }
    }
    Region region;
    for (auto buffer : getOperation().getBody().getOps<exec::BufferOp>()) {
      if (buffer.getHost() != host || buffer.getPersistent() || buffer.getSlots())
        continue;
      PlannedBuffer range = live.lookup(buffer);
      if (range.end < range.begin)
        range = {range.bytes, 0, never}; // never used
      if (buffer.getCarried())
        range = {range.bytes, 0, std::max(range.end, lastRepeated)};
      region.buffers.push_back(buffer);
      region.live.push_back(range);
    }
    return region;
  }
};
} // namespace
