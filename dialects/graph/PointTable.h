// The functions of graph.point: a pointwise op is a row of a table, with a body and a derivative.
#pragma once

#include "dialects/graph/PointFunctions.h"
#include "dialects/graph/Points.h"

namespace dtc::graph {

// Constant parameters of a function, in the order of their names.
using PointParameters = llvm::ArrayRef<double>;

// A function f of one number.
struct PointRow {
  PointFunction function;
  llvm::ArrayRef<llvm::StringRef> parameters; // names of its constant parameters
  double flops, gradientFlops;                // of a point, counting those of vector polynomials
  bool keepsF32; // mixed precision keeps operand and result in f32, as PyTorch's autocast does
  // Returns true if f(0) = 0, and if f'(0) is finite; null stands for true.
  bool (*isZeroAtZero)(PointParameters), (*isSmoothAtZero)(PointParameters);
  // Emits f(x).
  mlir::Value (*body)(PointBuilder &, mlir::Value x, PointParameters);
  // Emits f'(x) dy. Null if f is constant between its jumps: then the gradient is 0.
  mlir::Value (*gradient)(PointBuilder &, mlir::Value x, mlir::Value dy, PointParameters);
};

// Returns the row of a function.
const PointRow &pointRow(PointFunction function);

} // namespace dtc::graph
