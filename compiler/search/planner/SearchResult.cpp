// The result of a search.
#include "compiler/search/planner/SearchResult.h"

namespace dtc {

const SearchedPlacements &SearchResult::placementsOf(const Decisions &decisions) const {
  return placements.at(TensorSplit::of(decisions)).at(static_cast<size_t>(decisions.placement));
}

} // namespace dtc
