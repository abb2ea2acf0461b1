// Costs candidates for a search. Internal to this folder.
#pragma once

#include "compiler/search/planner/Contest.h"
#include "compiler/search/planner/Costed.h"
#include "compiler/search/planner/MeshCosts.h"
#include "compiler/search/planner/SearchWork.h"

#include <optional>

namespace dtc {

// The candidate with the smallest memory so far (StepEstimate::memoryNeed).
struct SmallestNeed {
  std::optional<Candidate> candidate;
  // Takes a candidate that needs less.
  void note(const Candidate &other);
};

// Costs candidates, and counts their work.
class CandidateCoster {
public:
  // Keeps the references. `smallest` notes every candidate.
  CandidateCoster(const SearchInputs &inputs, MeshCosts &costs, SearchWork &work,
                  SmallestNeed &smallest)
      : inputs(inputs), costs(costs), work(work), smallest(smallest) {}

  // Returns false if the decisions cannot fit.
  bool mayFit(const ModelCost &model, const Decisions &decisions) const;
  // Returns true if the decisions may still win with the recomputation that they need to fit.
  bool mayFitFaster(const ModelCost &model, const Decisions &decisions,
                    const Contest &contest) const;
  // Costs decisions.
  Costed cost(const ModelCost &model, const Decisions &decisions) const;
  // Enters a candidate into a contest, and the same decisions under less memory if these differ
  // (SearchOptions::lessMemoryShare).
  void enter(Candidate candidate, Contest &contest) const;

private:
  std::optional<Candidate> withLessMemory(const Candidate &candidate, const Contest &contest) const;
  void restoreLimits(StepEstimate &step) const;

  const SearchInputs &inputs;
  MeshCosts &costs;
  SearchWork &work;
  SmallestNeed &smallest;
};

} // namespace dtc
