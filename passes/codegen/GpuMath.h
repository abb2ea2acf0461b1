// Math functions that a GPU has no library for.
#pragma once

#include "mlir/IR/Operation.h"

namespace dtc {

// Replaces math.sin and math.cos below `root` by arithmetic with an error of a few units in the
// last place for angles up to 1e9: f64 arithmetic takes off multiples of a quarter turn,
// polynomials handle the rest.
void approximateAngles(mlir::Operation *root);

// Replaces math.powf of f32 below `root`, for bases of 0 or more, by arithmetic in f64. The result
// is within a unit in the last place.
void approximatePowers(mlir::Operation *root);

// Replaces math.exp of f32 below `root` by the instruction ex2.approx, corrected by the rounding
// error of x * log2(e). The relative error is 2^-22 from the instruction (PTX ISA) and 2^-23 from
// rounding; results well below the least normal number become 0. This takes 8 instructions instead
// of about 20 for a polynomial, with which the 1.65 billion exponentials of a cross entropy took
// 1.8 ms on an H200, twice as long as their memory traffic.
void approximateExponentials(mlir::Operation *root);

} // namespace dtc
