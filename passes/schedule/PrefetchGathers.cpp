// Gathers the parameters of a block together, while the previous block computes (pass
// dtc-prefetch-gathers).
#include "passes/schedule/Bucket.h"
#include "passes/schedule/CollectiveBuckets.h"
#include "passes/schedule/Dependences.h"
#include "passes/schedule/ExecutionLabels.h"
#include "passes/schedule/GradientCollectives.h"
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"

namespace dtc {
#define GEN_PASS_DEF_PREFETCHGATHERS
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {
// The gathers of one execution of a block, or of the code between two executions, in one task.
struct Group {
  int64_t execution;
  SmallVector<exec::CollectiveOp> gathers;
  Operation *compute; // the instruction after the gathers at the beginning of the block
};

// Returns the gather and the copies that pack and unpack it, in program order.
SmallVector<exec::InstructionOpInterface> unitOf(exec::CollectiveOp gather) {
  SmallVector<exec::InstructionOpInterface> unit = getPacking(gather);
  unit.push_back(gather);
  for (exec::CopyOp copy : getUnpacking(gather))
    unit.push_back(copy);
  return unit;
}

// Moves a unit in front of `anchor`, if no instruction between depends on it or it on them.
bool moveUnit(ArrayRef<exec::InstructionOpInterface> unit, Operation *anchor) {
  if (llvm::any_of(unit, [&](Operation *op) {
        return op->getBlock() != anchor->getBlock() || op->isBeforeInBlock(anchor);
      }))
    return false;
  AccessRanges ranges;
  for (exec::InstructionOpInterface op : unit)
    ranges.add(AccessRanges(op));
  for (Operation *op = anchor; op != unit.back(); op = op->getNextNode())
    if (auto instruction = cast<exec::InstructionOpInterface>(op);
        !llvm::is_contained(unit, instruction) && ranges.conflictsWith(AccessRanges(instruction)))
      return false;
  for (Operation *op : unit)
    op->moveBefore(anchor);
  return true;
}

struct PrefetchGathers : dtc::impl::PrefetchGathersBase<PrefetchGathers> {
  using PrefetchGathersBase::PrefetchGathersBase;

  void runOnOperation() override {
    unsigned number = 0;
    for (auto task : getOperation().getBody().getOps<exec::TaskOp>()) {
      if (!task.getPerMicroBatch())
        continue;
      std::vector<Group> groups = findGroups(task);
      for (Group &group : groups)
        gatherAtBegin(group);
      // Moves each group in front of the block before it; groups keep their order.
      if (ahead)
        for (size_t index = 1; index < groups.size(); ++index)
          gatherBefore(groups[index], groups[index - 1].compute);
      for (Group &group : groups)
        mergeGathers(group, number);
    }
  }

  static std::vector<Group> findGroups(exec::TaskOp task) {
    std::vector<Group> groups;
    for (auto collective : task.getBody().getOps<exec::CollectiveOp>()) {
      std::optional<int64_t> execution = getExecution(collective);
      if (!execution || !isParameterGather(collective))
        continue;
      if (groups.empty() || groups.back().execution != *execution)
        groups.push_back({*execution, {}, nullptr});
      groups.back().gathers.push_back(collective);
    }
    return groups;
  }

  // Moves the gathers of a group to the first of them; those that cannot move leave the group.
  static void gatherAtBegin(Group &group) {
    SmallVector<exec::CollectiveOp> together{group.gathers.front()};
    auto follow = [](exec::CollectiveOp gather) {
      Operation *last = gather;
      SmallVector<exec::CopyOp> unpacking = getUnpacking(gather);
      for (exec::CopyOp copy : llvm::reverse(unpacking))
        copy->moveAfter(gather);
      for (exec::CopyOp copy : getUnpacking(gather))
        last = copy;
      return last->getNextNode();
    };
    group.compute = follow(group.gathers.front());
    for (exec::CollectiveOp gather : llvm::drop_begin(group.gathers)) {
      bool isThere = unitOf(gather).front() == group.compute;
      if (isThere)
        group.compute = follow(gather);
      if (isThere || moveUnit(unitOf(gather), group.compute))
        together.push_back(gather);
    }
    group.gathers = std::move(together);
  }

  // Moves the gathers of a group in front of `anchor`, where the first of them may stand already.
  static void gatherBefore(Group &group, Operation *anchor) {
    for (exec::CollectiveOp gather : group.gathers) {
      SmallVector<exec::InstructionOpInterface> unit = unitOf(gather);
      if (unit.front() == anchor)
        anchor = unit.back()->getNextNode();
      else
        moveUnit(unit, anchor);
    }
    llvm::sort(group.gathers, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  }

  // Merges neighbours of one kind, up to the size of a bucket. A gather may read the result of
  // another one.
  void mergeGathers(Group &group, unsigned &number) {
    CollectiveBuckets buckets(bucketBytes);
    std::vector<BucketMember> members;
    std::vector<AccessRanges> ranges;
    for (exec::CollectiveOp gather : group.gathers) {
      AccessRanges accessed;
      for (exec::InstructionOpInterface op : unitOf(gather))
        accessed.add(AccessRanges(op));
      buckets.closeIf([&](unsigned index) { return ranges[index].conflictsWith(accessed); });
      ranges.push_back(std::move(accessed));
      members.push_back(makeBucketMember(gather));
      buckets.add(members.size() - 1, getBucketKey(gather), getBucketBytes(gather));
    }
    for (const std::vector<unsigned> &bucket : buckets.take()) {
      if (bucket.size() < 2)
        continue;
      SmallVector<BucketMember> chosen;
      for (unsigned index : bucket)
        chosen.push_back(members[index]);
      buildBucket(getOperation(), chosen, "block." + Twine(number++));
      merged += chosen.size() - 1;
    }
  }
};
} // namespace
