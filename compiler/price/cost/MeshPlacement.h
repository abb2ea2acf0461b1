// Places the axes of a logical mesh on the hierarchy of links.
#pragma once

#include "compiler/price/cost/Cost.h"

namespace dtc {

// One order of a mesh's axes. Ranks are numbered along it, the last axis innermost.
struct MeshPlacement {
  llvm::SmallVector<size_t> order;                // indices of the axes, outermost first
  llvm::SmallVector<RankGroup> groups;            // indexed by axis
  std::vector<llvm::SmallVector<int64_t>> spread; // ranks of each axis at each level, inside out
};

// The groups of each axis for axes from the outermost to the innermost: an axis of size n whose
// inner axes have product s is {{n, s}}.
// Example: {4, 2}, dp outside tp, is {{{4, 2}}, {{2, 1}}}.
llvm::SmallVector<RankGroup> meshGroups(llvm::ArrayRef<int64_t> sizesOuterToInner);

// The group of several axes together, innermost first. Example: dp and tp above are {{2, 1},
// {4, 2}}.
RankGroup jointGroup(llvm::ArrayRef<RankGroup> groups);

// Returns `size` ranks of a group: every `stride`-th, counted from the innermost. Example: every
// second rank of {{2, 1}, {4, 2}}, 2 of them, is {{2, 2}}.
RankGroup partOfGroup(const RankGroup &group, int64_t size, int64_t stride);

// All orders of the axes that differ in what some axis gets of the links: how many of its ranks are
// joined at each level and along each axis of a torus, and whether it keeps to its rails. The first
// one is the order of `sizes`, outermost first. Axes of size 1 stay where they are. At most 8 axes
// larger than 1. Example: {2, 8} on two DGX has two placements, tp 8 inside the nodes and across;
// {2, 2} on one DGX has one.
std::vector<MeshPlacement> meshPlacements(llvm::ArrayRef<int64_t> sizes, const Topology &topology);

} // namespace dtc
