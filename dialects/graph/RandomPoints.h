// Helpers of the scalar bodies of ops that draw random numbers.
#pragma once

#include "dialects/graph/Points.h"

namespace dtc::graph {

// Each block may have 2^16 random ops: instance i of a block draws from streams i * 2^16 + id.
inline constexpr uint64_t kStreamsPerInstance = 65536;

// Returns the row-major index of the element in a tensor of `shape`, as i64; `firstSample`, an
// index that may be null, is added to the index of dim 0.
mlir::Value globalElement(mlir::ImplicitLocOpBuilder &builder, llvm::ArrayRef<int64_t> shape,
                          mlir::ValueRange indices, mlir::Value firstSample);

} // namespace dtc::graph
