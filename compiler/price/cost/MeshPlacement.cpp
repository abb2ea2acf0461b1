// Enumerates the orders of mesh axes, merged by what they get of the links.
#include "compiler/price/cost/MeshPlacement.h"

#include "compiler/price/cost/UsedLevels.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <set>

namespace dtc {
namespace {

// The boundaries of the levels in devices, those of a torus axis by axis.
llvm::SmallVector<int64_t> boundariesOf(const Topology &topology) {
  llvm::SmallVector<int64_t> boundaries;
  int64_t devices = 1;
  for (const LinkLevel &level : topology.levels) {
    if (level.shape == LinkShape::Torus)
      for (int64_t dim : llvm::ArrayRef<int64_t>(level.dims).drop_back())
        boundaries.push_back(devices *= dim);
    boundaries.push_back(
        devices = topology.devicesWithin(static_cast<size_t>(&level - topology.levels.data())));
  }
  return boundaries;
}

// Returns the links that each axis uses, as numbers that are equal if the costs are.
std::vector<int64_t> signatureOf(llvm::ArrayRef<RankGroup> groups, const Topology &topology,
                                 llvm::ArrayRef<int64_t> boundaries) {
  std::vector<int64_t> signature;
  for (const RankGroup &group : groups) {
    llvm::append_range(signature, ranksWithin(group, boundaries));
    for (const UsedLevel &level : usedLevels(group, topology)) {
      signature.push_back(level.changesRails);
      signature.push_back(static_cast<int64_t>(level.ring)); // bytes/s: a torus's strides
    }
  }
  return signature;
}

} // namespace

llvm::SmallVector<RankGroup> meshGroups(llvm::ArrayRef<int64_t> sizesOuterToInner) {
  llvm::SmallVector<RankGroup> groups(sizesOuterToInner.size());
  int64_t stride = 1;
  for (size_t i = sizesOuterToInner.size(); i-- > 0;) {
    groups[i] = {{sizesOuterToInner[i], stride}};
    stride *= sizesOuterToInner[i];
  }
  return groups;
}

RankGroup jointGroup(llvm::ArrayRef<RankGroup> groups) {
  RankGroup joint;
  for (const RankGroup &group : groups)
    llvm::append_range(joint, group);
  llvm::sort(joint, [](const RankSpan &a, const RankSpan &b) { return a.stride < b.stride; });
  // Neighbouring spans are one: {{2, 1}, {4, 2}} is {{8, 1}}, but the parts are kept as they are
  // where a level could split them otherwise.
  return joint;
}

RankGroup partOfGroup(const RankGroup &group, int64_t size, int64_t stride) {
  RankGroup part;
  for (const RankSpan &span : group) {
    if (stride >= span.size) { // all of its ranks are passed over
      stride /= span.size;
      continue;
    }
    int64_t taken = std::min(size, span.size / stride);
    part.push_back({taken, span.stride * stride});
    size /= taken;
    stride = 1;
    if (size == 1)
      break;
  }
  return part;
}

std::vector<MeshPlacement> meshPlacements(llvm::ArrayRef<int64_t> sizes, const Topology &topology) {
  llvm::SmallVector<size_t> moving; // axes larger than 1, in the order of `sizes`
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1)
      moving.push_back(i);
  assert(moving.size() <= 8 && "a mesh has few axes");
  llvm::SmallVector<int64_t> boundaries = boundariesOf(topology);
  std::vector<MeshPlacement> placements;
  std::set<std::vector<int64_t>> seen;
  llvm::SmallVector<size_t> permutation(moving);
  do {
    MeshPlacement placement;
    size_t next = 0;
    for (size_t i = 0; i < sizes.size(); ++i)
      placement.order.push_back(sizes[i] > 1 ? permutation[next++] : i);
    llvm::SmallVector<int64_t> ordered;
    for (size_t axis : placement.order)
      ordered.push_back(sizes[axis]);
    llvm::SmallVector<RankGroup> groups = meshGroups(ordered);
    placement.groups.resize(sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i)
      placement.groups[placement.order[i]] = groups[i];
    if (!seen.insert(signatureOf(placement.groups, topology, boundaries)).second)
      continue;
    for (const RankGroup &group : placement.groups)
      placement.spread.push_back(ranksPerLevel(group, topology));
    placements.push_back(std::move(placement));
  } while (std::next_permutation(permutation.begin(), permutation.end()));
  return placements;
}

} // namespace dtc
