// The input of the explanations of a plan's stages, ops and tensors.
#pragma once

#include "compiler/show/explain/CostedPlan.h"

namespace dtc {

// The input of `dtc explain`.
struct ExplainRequest {
  const Plan &plan;
  const CostedPlan &costed;
  mlir::ModuleOp model; // the types of parameters
  bool json = false;
};

} // namespace dtc
