// Finds the fastest decisions that fit, with a bound on what any others could reach. Internal to
// this folder.
#pragma once

#include "compiler/planner/PlacementFrontier.h"
#include "compiler/planner/SearchSpace.h"

#include <functional>
#include <map>

namespace dtc {

struct Candidate {
  Decisions decisions;
  StepEstimate step;
  int64_t number = 0; // in the order of costing; ties go to the smaller one
};

struct SearchResult {
  std::vector<Candidate> ranked; // that fit, the fastest first
  // The one that needs least memory of those that were costed, whether it fits or not.
  std::optional<Candidate> leanest;
  int64_t costed = 0;
  double lowerBound = 0; // seconds that no decisions of the space can beat, by this cost model
  bool complete = true;  // the search ended by its bound, not by the clock
  // What Decisions::placement numbers: by (tp, sequence parallelism).
  std::map<std::pair<int64_t, bool>, std::vector<SearchedPlacements>> placements;

  const SearchedPlacements &placementsOf(const Decisions &decisions) const;
};

struct SearchOptions {
  int64_t devicesPerNode = 1;
  double seconds = 60; // stop then with what there is
  size_t keep = 200;   // candidates in `ranked`
  size_t refined = 48; // of these, timed by the schedule itself
  bool ignoreMemory = false;
  double fasterThan = std::numeric_limits<double>::infinity(); // what is not need not be found
  bool prune = true;                                           // false: cost everything (for tests)
};

// Best first by lower bound, expert templates first of all; a mesh whose bound, under the best of
// its placements, is not below the incumbent is not looked at. Ties go to the candidate that is
// enumerated first. Every candidate is costed under every point of the frontier of its tensor
// parallelism.
SearchResult searchJointly(CellStore &cells, const std::vector<Decisions> &meshes,
                           const SpaceLimits &limits, const Pins &pins,
                           const EstimateRequest &request, const SearchOptions &options);

} // namespace dtc
