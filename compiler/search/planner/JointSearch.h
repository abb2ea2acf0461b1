// Finds the fastest decisions that fit, with a bound on what any others could reach. Internal to
// this folder.
#pragma once

#include "compiler/search/planner/PlacementFrontier.h"
#include "compiler/search/planner/SearchOptions.h"
#include "compiler/search/planner/SearchResult.h"

namespace dtc {

// Returns the fastest candidates with a bound on all others. Searches best first by lower bound,
// after the expert templates; a mesh whose bound under the best of its placements is not below the
// incumbent is skipped. Ties go to the candidate that is enumerated first. Every candidate is
// costed under every point of the frontier of its tensor parallelism.
SearchResult searchJointly(CellStore &cells, const std::vector<Decisions> &meshes,
                           const SpaceLimits &limits, const Pins &pins,
                           const EstimateRequest &request, const SearchOptions &options);

} // namespace dtc
