// Where a parameter may be. Internal to this folder.
#pragma once

#include "compiler/placement/HeadOps.h"
#include "compiler/placement/PlacementProblem.h"
#include "compiler/placement/TextbookPattern.h"

namespace dtc {

// The placements of a class of parameters: whole, or along each dim that is long enough, over each
// group of axes but that of data. Dims that are heads may be split over the outer axis of tensor
// parallelism alone, with another dim over the inner one, or none.
class ParameterChoices {
public:
  ParameterChoices(const PlacementProblem &problem, const WeightClasses &weights,
                   const HeadOps &heads, const TextbookPattern &textbook);

  // Of parameters that say where they are: that. Fails after a diagnostic where those of a class
  // are at different places.
  llvm::FailureOr<std::vector<Placement>> of(unsigned weightClass) const;
  // Which of these, in their order, a plan may choose: where weights have to be split, those that
  // are, if any is; of folded experts those that tensor parallelism leaves whole; what the textbook
  // has no split of is whole.
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
