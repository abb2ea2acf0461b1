// Random numbers of a counter.
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <array>

namespace dtc::graph {

// The first 32-bit word of Philox4x32-10 for a 64-bit key and four counter words, which are the low
// halves of 64 bits; all are i64, or vectors of it.
// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
// Example: key 0, counter {0, 0, 0, 0} gives 0x6627e8d5.
mlir::Value buildPhilox(mlir::ImplicitLocOpBuilder &builder, mlir::Value key,
                        std::array<mlir::Value, 4> counter);

} // namespace dtc::graph
