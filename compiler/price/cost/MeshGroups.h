// Groups of ranks along the axes of a logical mesh.
#pragma once

#include "compiler/price/cost/Cost.h"

namespace dtc {

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

} // namespace dtc
