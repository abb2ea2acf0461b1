// Helpers of the gradients.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc::graph {

// Sums `grad` over the dims along which `operand` was repeated, so that it has the operand's type.
mlir::Value sumToOperand(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value grad,
                         mlir::Value operand);

// Repeats `grad` along `dims` until it has the type of `like`; `like` gives the size of a dynamic
// batch.
mlir::Value repeatLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value grad,
                       llvm::ArrayRef<int64_t> dims, mlir::Value like);

// Fails with a diagnostic if a gradient flows into a result that has none, such as statistics saved
// for backward.
llvm::LogicalResult refuseGradient(mlir::Operation *op, mlir::ValueRange resultGrads,
                                   unsigned result, llvm::StringRef name);

// Fails with a diagnostic if the gradient of an operand that has none is needed.
llvm::LogicalResult refuseOperand(mlir::Operation *op, llvm::ArrayRef<bool> needed,
                                  unsigned operand, llvm::StringRef name);

} // namespace dtc::graph
