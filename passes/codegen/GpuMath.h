// Functions that a GPU has no library for.
#pragma once

#include "mlir/IR/Operation.h"

namespace dtc {

// Replaces math.sin and math.cos below `root` by arithmetic that is right to a few units in the last place for angles up to 1e9:
// multiples of a quarter turn are taken off in f64, of what is left polynomials are exact enough.
void approximateAngles(mlir::Operation *root);

} // namespace dtc
