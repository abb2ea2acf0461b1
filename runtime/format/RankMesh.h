// Where the ranks of a job are on its mesh.
#pragma once

#include "runtime/format/dte_generated.h"

#include <span>
#include <vector>

namespace dtc::format {

// A place is the row-major index of coordinates, the last axis innermost. Each has one rank.
// Example: sizes {2, 3} have place 4 at {1, 1}; where ranks are {0, 2, 4, 1, 3, 5}, rank 3 is there.
class RankMesh {
public:
  // `ranks`: by place; empty: each is at the place of its own number.
  explicit RankMesh(std::vector<uint32_t> sizes, std::vector<uint32_t> ranks = {});
  // Of a file whose mesh and ranks have been verified.
  explicit RankMesh(const Manifest &manifest);

  const std::vector<uint32_t> &sizes() const { return axes; }
  uint64_t numRanks() const;
  uint32_t rankAt(uint32_t place) const { return ranks.empty() ? place : ranks[place]; }
  uint32_t rankAt(std::span<const uint32_t> coordinates) const;
  uint32_t placeOf(uint32_t rank) const { return places.empty() ? rank : places[rank]; }
  // Of a rank, one per axis.
  std::vector<uint32_t> coordinatesOf(uint32_t rank) const;

private:
  std::vector<uint32_t> axes, ranks, places;
};

} // namespace dtc::format
