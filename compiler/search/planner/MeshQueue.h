// The order in which a search visits meshes: by lower bound. Internal to this folder.
#pragma once

#include "compiler/search/planner/MeshCosts.h"
#include "compiler/search/planner/SearchOptions.h"

#include <vector>

namespace dtc {

// A mesh with a bound.
struct BoundedMesh {
  size_t index; // of SearchInputs::meshes
  double bound; // lower bound in seconds, under the best of its placements
};

// Returns all meshes that the model can be partitioned over, by ascending bound. A mesh that is
// certainly not below `toBeat` seconds has a bound that is less tight.
std::vector<BoundedMesh> boundMeshes(const SearchInputs &inputs, MeshCosts &costs, double toBeat);

} // namespace dtc
