// The steps that move a tensor from one placement to another: the single definition that rewriting,
// bytes, seconds and explanations use.
#pragma once

#include "passes/shard/Mesh.h"

#include <vector>

namespace dtc {

// One op on the shard of every rank.
struct ReshardStep {
  // The op of a step.
  enum class Kind {
    AllReduce,     // adds up, or takes the maximum, over the group
    ReduceScatter, // reduces over the group, and each rank keeps its shard of `dim`
    AllGather,     // joins the group's shards of `dim`
    AllToAll,      // joins the group's shards of `dim` and splits `newDim`
    Slice,         // keeps the rank's shard of `dim`
    Pad,           // adds zeros at the end of `dim`
    Crop,          // drops the end of `dim`
    Reorder,       // moves equal blocks of `dim`: new block i is block `blocks[i]`
    Scale          // multiplies by `factor`
  };
  Kind kind;
  // The group: ranks that differ on these mesh axes only, in order of their coordinates, the first
  // axis outermost. Ascending; empty for steps without communication.
  llvm::SmallVector<unsigned, 2> axes;
  int64_t dim = 0;
  int64_t newDim = 0;
  graph::ReduceKind reduce = graph::ReduceKind::Sum;
  llvm::SmallVector<int64_t, 4> blocks;
  double factor = 1;
  llvm::SmallVector<int64_t, 4> before, after; // shapes of a rank's shard, with padding

  // True if the ranks of a group exchange data in this step.
  bool communicates() const {
    return kind == Kind::AllReduce || kind == Kind::ReduceScatter || kind == Kind::AllGather ||
           kind == Kind::AllToAll;
  }
};

// Returns the name of a kind, such as "all_reduce".
llvm::StringRef toString(ReshardStep::Kind kind);

// Returns the steps from one placement of a tensor to another on a mesh. Shapes are static. The
// steps per mesh axis are:
//   partial -> replicate  all-reduce          partial -> shard    reduce-scatter
//   shard -> replicate    all-gather          replicate -> shard  slice (no communication)
//   shard(a) -> shard(b)  all-to-all          replicate -> partial(sum)  scale by 1/n
//   replicate -> partial(max)  nothing: the maximum of equals
// - The outermost axes that both placements of a dim share stay if its padding allows; others leave
//   it from the inside out.
// - Axes that leave or are added together form one collective over their joint group.
// - Steps that make shards smaller go first, steps that make them larger last.
// - Dims whose axes wait for each other's dim (shard(0), shard(1) to shard(1), shard(0)) and axes
//   that change their order within a dim are gathered and cut again.
// - Padding is zero before and after, and has a step of its own, so that every collective divides
//   evenly.
//
// Example, 8x6, [shard(0), shard(0), partial(sum)] to [replicate, replicate, shard(1)] on 2x2x2:
// reduce-scatter over axis 2, then one all-gather over axes 0 and 1.
//
// Sums and maxima do not commute, so `from` may have one kind of partial only.
std::vector<ReshardStep> reshardSteps(llvm::ArrayRef<int64_t> global, const Placement &from,
                                      const Placement &to, const Mesh &mesh);

// Returns the number of ranks in the group of a step; 1 if it has none.
int64_t groupSize(const ReshardStep &step, const Mesh &mesh);

// Returns the larger of the elements that a rank has before and after a collective: those of the
// whole group for gathers and reductions, those of one rank for an all-to-all.
double wholeElements(const ReshardStep &step);

// Returns the elements that one rank sends in a step by a ring of n ranks: (n - 1) / n of
// wholeElements, twice that for an all-reduce.
double sentElements(const ReshardStep &step, const Mesh &mesh);

} // namespace dtc
