// What moving a tensor from one placement to another takes, step by step: the one statement that
// rewriting, bytes, seconds and explanations read.
#pragma once

#include "passes/shard/Mesh.h"

#include <vector>

namespace dtc {

// One op on every rank's part.
struct ReshardStep {
  enum class Kind {
    AllReduce,     // adds up, or takes the maximum, over the group
    ReduceScatter, // the same, and each rank keeps its part of `dim`
    AllGather,     // joins the group's parts of `dim`
    AllToAll,      // joins the group's parts of `dim` and splits `newDim`
    Slice,         // keeps the rank's part of `dim`
    Pad,           // adds zeros at the end of `dim`
    Crop,          // drops the end of `dim`
    Reorder,       // moves equal blocks of `dim`: new block i is block `blocks[i]`
    Scale          // multiplies by `factor`
  };
  Kind kind;
  // The group: ranks that differ on these mesh axes only, in order of their coordinates, the first
  // axis outermost. Ascending; empty for steps that know no ranks.
  llvm::SmallVector<unsigned, 2> axes;
  int64_t dim = 0;
  int64_t newDim = 0;
  graph::ReduceKind reduce = graph::ReduceKind::Sum;
  llvm::SmallVector<int64_t, 4> blocks;
  double factor = 1;
  llvm::SmallVector<int64_t, 4> before, after; // shapes of a rank's part, with padding

  bool communicates() const {
    return kind == Kind::AllReduce || kind == Kind::ReduceScatter || kind == Kind::AllGather ||
           kind == Kind::AllToAll;
  }
};

llvm::StringRef toString(ReshardStep::Kind kind);

// The steps from one placement of a tensor to another on a mesh. Shapes are static. Per mesh axis:
//   partial -> replicate  all-reduce          partial -> shard    reduce-scatter
//   shard -> replicate    all-gather          replicate -> shard  slice (no communication)
//   shard(a) -> shard(b)  all-to-all          replicate -> partial(sum)  scale by 1/n
//   replicate -> partial(max)  nothing: the maximum of equals
// Axes that a dim has in common from the outside in stay where its padding allows; others leave it
// from the inside out. Axes that leave or come together are one collective over their joint group.
// What makes parts smaller goes first, what makes them larger last. Dims whose axes wait for each
// other's place (shard(0), shard(1) to shard(1), shard(0)) and axes that change their order within
// a dim are gathered and cut again. Padding is zero before and after, and of its own step, so that
// every collective divides evenly.
//
// Example, 8x6, [shard(0), shard(0), partial(sum)] to [replicate, replicate, shard(1)] on 2x2x2:
// reduce-scatter over axis 2, then one all-gather over axes 0 and 1.
//
// Sums and maxima do not commute, so `from` has one kind of partial at most.
std::vector<ReshardStep> reshardSteps(llvm::ArrayRef<int64_t> global, const Placement &from,
                                      const Placement &to, const Mesh &mesh);

// Ranks in the group of a step; 1 where it has none.
int64_t groupSize(const ReshardStep &step, const Mesh &mesh);

// Elements of the tensor that the group has together, and of an exchange those of one rank: the
// larger of what a rank has before and after a collective.
double wholeElements(const ReshardStep &step);

// Elements that one rank sends in a step, by a ring: of n ranks (n - 1) / n of wholeElements,
// twice for an all-reduce.
double sentElements(const ReshardStep &step, const Mesh &mesh);

} // namespace dtc
