// The positions of a job's ranks on its mesh.
#pragma once

#include "runtime/format/dte_generated.h"

#include <span>
#include <vector>

namespace dtc::format {

// Maps ranks to positions and back. A position is the row-major index of mesh coordinates, the last
// axis innermost. Each has one rank.
// Example: sizes {2, 3} have position 4 at {1, 1}; with ranks {0, 2, 4, 1, 3, 5}, rank 3 is there.
class RankMesh {
public:
  // `ranks`: by position; empty: each is at the position of its own number.
  explicit RankMesh(std::vector<uint32_t> sizes, std::vector<uint32_t> ranks = {});
  // Takes the mesh of a file whose mesh and ranks have been verified.
  explicit RankMesh(const Manifest &manifest);

  const std::vector<uint32_t> &sizes() const { return axes; }
  // Returns the number of ranks.
  uint64_t numRanks() const;
  // Returns the rank at a position.
  uint32_t rankAt(uint32_t position) const { return ranks.empty() ? position : ranks[position]; }
  // Returns the rank at coordinates, one per axis.
  uint32_t rankAt(std::span<const uint32_t> coordinates) const;
  // Returns the position of a rank.
  uint32_t positionOf(uint32_t rank) const { return positions.empty() ? rank : positions[rank]; }
  // Returns the coordinates of a rank, one per axis.
  std::vector<uint32_t> coordinatesOf(uint32_t rank) const;

private:
  std::vector<uint32_t> axes, ranks, positions;
};

} // namespace dtc::format
