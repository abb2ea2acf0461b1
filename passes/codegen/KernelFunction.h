// Properties of kernel functions of the graph dialect, and the attributes that record them.
#pragma once

#include "dialects/graph/Graph.h"
#include "passes/codegen/PointwiseLoops.h"

namespace dtc {

// Returns the only op of a kernel function that computes rows or reductions; null if all are
// pointwise.
mlir::Operation *getRowOp(graph::FuncOp kernel);

// The loop that walks each dim of an operand of a pointwise op; nullopt for a dim that repeats.
using OperandLoops = llvm::SmallVector<std::optional<unsigned>>;
// Returns the loops of one operand of a pointwise op.
OperandLoops getOperandLoops(mlir::Operation *op, unsigned operand);

// True for constants, whose value is the same at every point of any iteration space.
bool isUniform(mlir::Operation *op);

// Returns the shape of the iteration space of a pointwise kernel.
llvm::ArrayRef<int64_t> getSpace(graph::FuncOp kernel);

// A way in which an op reads an argument of a pointwise kernel. Buffers are numbered: the arguments
// in order, then the results.
struct BufferAccess {
  unsigned buffer;
  OperandLoops loops;
  bool operator==(const BufferAccess &) const = default;
};
// Returns the distinct accesses of the arguments of a pointwise kernel.
llvm::SmallVector<BufferAccess> getAccesses(graph::FuncOp kernel);

// Returns the loops of a pointwise kernel, merged unless an op needs its indices.
PointwiseLoops getPointwiseLoops(graph::FuncOp kernel);

// Returns the #graph.window attributes of `op`, including those of unsplit loops.
llvm::SmallVector<graph::WindowAttr> getWindows(mlir::Operation *op);

// Returns the number of ops that draw random numbers. A kernel with such ops takes, after its
// windows, the first sample of the micro-batch and the stream of each of them.
unsigned countRandomOps(graph::FuncOp kernel);

// Sets kernel_range, kernel_points, kernel_combines, kernel_scalars and kernel_in_place from the
// body.
void setKernelAttributes(graph::FuncOp kernel);

// Names of the attributes that setKernelAttributes sets.
inline constexpr llvm::StringLiteral kernelRangeName = "kernel_range";
inline constexpr llvm::StringLiteral kernelPointsName = "kernel_points"; // points of a unit
// present if a unit combines points
inline constexpr llvm::StringLiteral kernelCombinesName = "kernel_combines";
inline constexpr llvm::StringLiteral kernelScalarsName = "kernel_scalars";
inline constexpr llvm::StringLiteral kernelInPlaceName = "kernel_in_place";

// Attribute of a kernel call, DenseI64ArrayAttr: for each result a bit mask of the mesh axes along
// which it is a partial sum. Absent if no result is one.
inline constexpr llvm::StringLiteral kernelSharesName = "kernel_shares";

} // namespace dtc
