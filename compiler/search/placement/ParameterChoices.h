// Enumerates the placements of a parameter. Internal to this folder.
#pragma once

#include "compiler/search/placement/HeadOps.h"
#include "compiler/search/placement/PlacementProblem.h"
#include "compiler/search/placement/TextbookPattern.h"

namespace dtc {

// The placements of a class of parameters: whole, or along each dim that is long enough, over each
// group of axes but that of data. Dims that are heads may be split over the outer axis of tensor
// parallelism alone, with another dim over the inner one, or none.
class ParameterChoices {
public:
  ParameterChoices(const PlacementProblem &problem, const WeightClasses &weights,
                   const HeadOps &heads, const TextbookPattern &textbook);

  // Returns the placements of a class; only the fixed one for parameters that have one. Fails after
  // a diagnostic if parameters of the class have different fixed placements.
  llvm::FailureOr<std::vector<Placement>> of(unsigned weightClass) const;
  // Marks the placements that a plan may choose: if weights have to be split, the split ones, if
  // there are any; for folded experts, those that tensor parallelism leaves whole; whole for
  // parameters that the textbook does not split.
  std::vector<bool> allowed(unsigned weightClass, llvm::ArrayRef<Placement> placements) const;

private:
  std::vector<Placement> possible(unsigned weightClass) const;
  bool isWhole(const Placement &placement) const;
  bool isSplitEnough(unsigned weightClass, const Placement &placement) const;

  const Mesh &mesh;
  bool splitsWeights, foldsExperts;
  llvm::SmallVector<unsigned, 2> tensorAxes; // outermost first
  const WeightClasses &weights;
  const HeadOps &heads;
  const TextbookPattern &textbook;
};

} // namespace dtc
