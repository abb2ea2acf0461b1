// The part of the decisions that splits tensors, and the ways of experts beside it.
#pragma once

#include "compiler/decide/decisions/Pins.h"

#include "llvm/ADT/SmallVector.h"

namespace dtc {

// The decisions on which the placements of a model's tensors depend.
struct TensorSplit {
  int64_t tp = 1;
  bool sequenceParallel = false, foldsExperts = false;
  // Returns the split of decisions.
  static TensorSplit of(const Decisions &decisions);
  // Returns usual decisions with this split.
  Decisions decisions() const;
  auto operator<=>(const TensorSplit &) const = default;
};

// Returns the decisions with experts that are folded over the ranks of tensor parallelism, or not.
Decisions withFoldedExperts(Decisions decisions, bool folds);
// Returns the ways that pins leave to experts beside `tp` ranks of tensor parallelism: folded over
// them or not. Experts that are not folded come first.
llvm::SmallVector<bool, 2> foldingsOf(const Pins &pins, int64_t tp);
// Returns true if a pin asks for folded experts, whatever tp is.
bool pinsFoldedExperts(const Pins &pins);

} // namespace dtc
