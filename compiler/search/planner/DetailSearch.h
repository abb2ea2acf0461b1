// Searches the details of meshes. Internal to this folder.
#pragma once

#include "compiler/search/planner/CandidateCoster.h"
#include "compiler/search/planner/GroupSearch.h"

#include <set>
#include <vector>

namespace dtc {

// Lower bounds of a detail of a mesh under the first of its placements, in seconds, for any
// recomputation; 0: unknown. Another placement makes no part of a step faster than by a ratio, and
// so its details take ratio x floor or more.
struct DetailFloor {
  double step = 0;
  double groups = 0; // with ZeRO in groups
};

// Costs the details of meshes that may win a contest, and enters them.
class DetailSearch {
public:
  // Keeps the references. `templates` have been costed and are left out. `groups` gains the details
  // that stay open to ZeRO in groups; it is null if they are not searched.
  DetailSearch(const SearchInputs &inputs, MeshCosts &costs, SearchWork &work,
               const CandidateCoster &coster, const std::set<Decisions> &templates,
               GroupSearch *groups, Contest &contest)
      : inputs(inputs), costs(costs), work(work), coster(coster), templates(templates),
        groups(groups), contest(contest) {}

  // Costs the details of a mesh under each point of its frontier. The first point sets the floors
  // that the others have to beat.
  void run(Decisions mesh);

private:
  const SearchInputs &inputs;
  MeshCosts &costs;
  SearchWork &work;
  const CandidateCoster &coster;
  const std::set<Decisions> &templates;
  GroupSearch *groups;
  Contest &contest;

  class Point;
};

} // namespace dtc
