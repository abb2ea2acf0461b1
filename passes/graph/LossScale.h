// The loss scale of f16.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc {

// Declares the loss scale and the number of steps since it last changed. If they are declared,
// dtc-differentiate multiplies the loss by the scale, and dtc-add-optimizer divides by it and
// updates both. They are states of the step, not of a parameter.
void declareLossScale(mlir::ModuleOp module);

} // namespace dtc
