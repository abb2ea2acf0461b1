// Decisions with the estimate of their step. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Decisions.h"
#include "compiler/price/estimate/StepEstimate.h"

#include "llvm/ADT/ArrayRef.h"

namespace dtc {

// The cost of a start that runs out of memory, as a share of the time of a step. The value is
// assumed; it decides between plans whose predicted times differ by less than the model's errors.
constexpr double kLossOfNotFitting = 0.1;

// Decisions with the estimate of their step.
struct Candidate {
  Decisions decisions;
  StepEstimate step;
  int64_t number = 0; // in the order of costing; ties go to the smaller one
  double fitProbability = 1;

  // Returns the expected seconds of a step, which the search minimises. Never less than
  // stepSeconds.
  double score() const { return step.stepSeconds * (1 + kLossOfNotFitting * (1 - fitProbability)); }
};

// Returns the decisions of a candidate's plan, in which the allowed recomputation, layers on the
// host and buckets are replaced by the ones that the candidate uses.
Decisions decisionsOf(const Candidate &candidate);

// Sorts by score. Of two equal scores a simulated one comes first, as the other is only a lower
// bound.
void sortByScore(llvm::MutableArrayRef<Candidate> candidates);

} // namespace dtc
