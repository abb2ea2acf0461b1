// The loss scale of f16.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc {

// Declares the scale and the number of steps since it moved: dtc-differentiate multiplies the loss by
// a scale that is declared, and dtc-add-optimizer divides by it and updates both. They are state of
// the step, not of a parameter.
void declareLossScale(mlir::ModuleOp module);

} // namespace dtc
