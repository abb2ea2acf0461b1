// Merges reductions of gradients and gathers of parameters into few large ones (pass
// dtc-bucket-collectives).
#include "passes/schedule/Bucket.h"
#include "passes/schedule/CollectiveBuckets.h"
#include "passes/schedule/Dependences.h"
#include "passes/schedule/ExecutionLabels.h"
#include "passes/schedule/GradientCollectives.h"
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/RunOrder.h"

namespace dtc {
#define GEN_PASS_DEF_BUCKETCOLLECTIVES
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {
using Member = BucketMember;

struct BucketCollectives : dtc::impl::BucketCollectivesBase<BucketCollectives> {
  using BucketCollectivesBase::BucketCollectivesBase;

  void runOnOperation() override {
    exec::ProgramOp program = getOperation();
    nameGathers(program);
    joinReductions(program);
    hoistGradientReductions(program);
    number = 0;
    // Starts with the reductions of scattered results: each would otherwise end the bucket that
    // scatters.
    mergeThose(program, [](exec::CollectiveOp collective) { return reducesScattered(collective); });
    mergeThose(program,
               [](exec::CollectiveOp collective) { return !reducesScattered(collective); });
    for (auto buffer : llvm::make_early_inc_range(program.getBody().getOps<exec::BufferOp>()))
      if (buffer.use_empty())
        buffer.erase();
  }

  void mergeThose(exec::ProgramOp program, llvm::function_ref<bool(exec::CollectiveOp)> belongs) {
    std::vector<Member> members;
    for (const std::vector<unsigned> &bucket : chooseBuckets(program, members, belongs)) {
      SmallVector<Member> chosen;
      for (unsigned index : bucket)
        // Skips members that an earlier bucket has changed.
        if (isBucketMember(members[index].collective))
          chosen.push_back(members[index]);
      if (chosen.size() < 2)
        continue;
      buildBucket(program, chosen, Twine(number++));
      merged += chosen.size() - 1;
    }
  }

  // Labels gathers of parameters with the gathered parameter, for messages.
  static void nameGathers(exec::ProgramOp program) {
    for (exec::CollectiveOp collective : getInstructionsOf<exec::CollectiveOp>(program)) {
      if (!isParameterGather(collective))
        continue;
      SmallVector<Value, 3> ends{collective.getSrc(), collective.getDst()};
      if (SmallVector<exec::CopyOp> unpacks = getUnpacking(collective); !unpacks.empty())
        ends.push_back(unpacks.front().getDst());
      for (Value end : ends)
        if (getRootOp(end).getPersistent())
          collective.setName(getRootOp(end).getName());
    }
  }

  // True for collectives that this pass merges; dtc-prefetch-gathers has merged the gathers of
  // micro-batches.
  bool isToMerge(exec::CollectiveOp collective) const {
    return getExecution(collective) ? !isParameterGather(collective) : once.getValue();
  }

  // Chooses the buckets. A member may be delayed to the last of its bucket if nothing between
  // depends on it or on its unpacking. If runs of several micro-batches are interleaved, a bucket
  // ends with its task: its memory would otherwise stay occupied while other tasks run.
  std::vector<std::vector<unsigned>>
  chooseBuckets(exec::ProgramOp program, std::vector<Member> &members,
                llvm::function_ref<bool(exec::CollectiveOp)> belongs) {
    CollectiveBuckets buckets(bucketBytes);
    llvm::DenseMap<Operation *, unsigned> unpackOf;
    std::vector<AccessRanges> ranges; // accesses of each member and its unpacking
    llvm::DenseMap<Value, std::vector<unsigned>> usersOf; // members whose ranges are of a buffer
    bool isInterleaved = RunOrder(program).isInterleaved();
    Operation *task = nullptr;
    for (exec::InstructionOpInterface instruction : getInstructions(program)) {
      if (isInterleaved && instruction->getParentOp() != task)
        buckets.closeIf([](unsigned) { return true; });
      task = instruction->getParentOp();
      auto unpacked = unpackOf.find(instruction);
      AccessRanges accessed(instruction);
      llvm::SmallDenseSet<unsigned> blocked;
      for (Value root : accessed.getRoots())
        if (auto users = usersOf.find(root); users != usersOf.end())
          for (unsigned index : users->second) {
            bool isOwn = unpacked != unpackOf.end() && unpacked->second == index;
            if (!isOwn && ranges[index].conflictsWith(accessed))
              blocked.insert(index);
          }
      if (!blocked.empty())
        buckets.closeIf([&](unsigned index) { return blocked.contains(index); });
      auto collective = dyn_cast<exec::CollectiveOp>(instruction.getOperation());
      if (!collective || !isBucketMember(collective) || !isToMerge(collective) ||
          !belongs(collective))
        continue;
      members.push_back(makeBucketMember(collective));
      ranges.push_back(accessed);
      for (exec::CopyOp copy : members.back().unpacks) {
        unpackOf[copy] = members.size() - 1;
        ranges.back().add(AccessRanges(copy));
      }
      for (Value root : ranges.back().getRoots())
        usersOf[root].push_back(members.size() - 1);
      buckets.add(members.size() - 1, getBucketKey(collective), getBucketBytes(collective));
    }
    return buckets.take();
  }

  unsigned number = 0; // number of buckets so far
};
} // namespace
