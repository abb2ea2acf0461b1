// The formats of floats in 8 bits (OCP 8-bit Floating Point Specification, 2023).
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/graph/EightBitEnums.h.inc"

namespace dtc::graph {

// The facts about a format of a sign, exponent and fraction.
struct EightBitFacts {
  int fractionBits;
  int leastExponent;   // the least normal number is 2^leastExponent
  int largestExponent; // the largest number is 1.75 * 2^largestExponent in both formats
};

// Returns the facts about a format: e4m3 reaches from 2^-9 to 448, e5m2 from 2^-16 to 57344.
constexpr EightBitFacts factsOf(EightBitFormat format) {
  return format == EightBitFormat::E4M3 ? EightBitFacts{3, -6, 8} : EightBitFacts{2, -14, 15};
}

// The scale is at most 2^100, so that every scaled number of a format is a normal bf16.
inline constexpr int kLargestScaleExponent = 100;

} // namespace dtc::graph
