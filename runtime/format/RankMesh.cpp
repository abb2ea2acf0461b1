#include "runtime/format/RankMesh.h"

#include <functional>
#include <numeric>

namespace dtc::format {
namespace {

std::vector<uint32_t> sizesOf(const Manifest &manifest) {
  std::vector<uint32_t> sizes;
  for (const Axis *axis : *manifest.mesh())
    sizes.push_back(axis->size());
  return sizes;
}

std::vector<uint32_t> ranksOf(const Manifest &manifest) {
  const auto *ranks = manifest.place_ranks();
  return ranks ? std::vector<uint32_t>(ranks->begin(), ranks->end()) : std::vector<uint32_t>();
}

} // namespace

RankMesh::RankMesh(std::vector<uint32_t> sizes, std::vector<uint32_t> ranks)
    : axes(std::move(sizes)), ranks(std::move(ranks)), positions(this->ranks.size()) {
  for (uint32_t position = 0; position < positions.size(); ++position)
    positions[this->ranks[position]] = position;
}

RankMesh::RankMesh(const Manifest &manifest) : RankMesh(sizesOf(manifest), ranksOf(manifest)) {}

uint64_t RankMesh::numRanks() const {
  return std::accumulate(axes.begin(), axes.end(), uint64_t(1), std::multiplies<>());
}

uint32_t RankMesh::rankAt(std::span<const uint32_t> coordinates) const {
  uint32_t position = 0;
  for (size_t axis = 0; axis < axes.size(); ++axis)
    position = position * axes[axis] + coordinates[axis];
  return rankAt(position);
}

std::vector<uint32_t> RankMesh::coordinatesOf(uint32_t rank) const {
  std::vector<uint32_t> coordinates(axes.size());
  uint32_t position = positionOf(rank);
  for (size_t axis = axes.size(); axis-- > 0;) {
    coordinates[axis] = position % axes[axis];
    position /= axes[axis];
  }
  return coordinates;
}

} // namespace dtc::format
