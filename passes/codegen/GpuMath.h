// Functions that a GPU has no library for.
#pragma once

#include "mlir/IR/Operation.h"

namespace dtc {

// Replaces math.sin and math.cos below `root` by arithmetic that is right to a few units in the last place for angles up to 1e9:
// multiples of a quarter turn are taken off in f64, of what is left polynomials are exact enough.
void approximateAngles(mlir::Operation *root);

// Replaces math.exp of f32 below `root` by the instruction ex2.approx and what rounding x * log2(e) has left off: right to 2^-22 of
// its value by the instruction (PTX ISA) and 2^-23 by roundings, 0 well below the least normal number. That is 8 instructions where a polynomial takes
// some 20, by which 1.65 billion words of a cross entropy took 1.8 ms on an H200, twice what their memory takes.
void approximateExponentials(mlir::Operation *root);

} // namespace dtc
