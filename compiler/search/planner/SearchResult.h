// The result of a search. Internal to this folder.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/search/planner/Candidate.h"
#include "compiler/search/planner/PlacementFrontier.h"

#include <map>
#include <optional>
#include <vector>

namespace dtc {

// The result of a search.
struct SearchResult {
  std::vector<Candidate> ranked; // candidates that fit, by ascending score
  // The candidate that needs least of the memory that it is short of (StepEstimate::memoryNeed). If
  // nothing fits, it is the best of the whole space; otherwise of those that were costed.
  std::optional<Candidate> leastMemory;
  int64_t costed = 0;
  double lowerBound = 0; // seconds that no decisions of the space can beat, by this cost model
  SearchEnd end = SearchEnd::Bound;
  // Returns true if the bound, not a limit of work or time, ended the search.
  bool complete() const { return end == SearchEnd::Bound; }
  // The placements that Decisions::placement indexes.
  std::map<TensorSplit, std::vector<SearchedPlacements>> placements;

  // Returns the placements of a candidate's decisions.
  const SearchedPlacements &placementsOf(const Decisions &decisions) const;
};

} // namespace dtc
