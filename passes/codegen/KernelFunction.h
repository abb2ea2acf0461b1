// What a group of graph ops needs to become a kernel function, and what its attributes say.
#pragma once

#include "dialects/graph/Graph.h"
#include "passes/codegen/PointwiseLoops.h"

namespace dtc {

// The only op of a kernel function that computes rows or reductions; null when all are pointwise.
mlir::Operation *getRowOp(graph::FuncOp kernel);

// How an operand of a pointwise op walks through the iteration space: per dim the loop, or none
// where it repeats.
using OperandLoops = llvm::SmallVector<std::optional<unsigned>>;
OperandLoops getOperandLoops(mlir::Operation *op, unsigned operand);

// A constant runs over any space; its value is the same at every point.
bool isUniform(mlir::Operation *op);

// The shape of the iteration space of a pointwise kernel.
llvm::ArrayRef<int64_t> getSpace(graph::FuncOp kernel);

// One (buffer, loops) pair per way in which an op reads an argument of a pointwise kernel; buffers
// are the arguments in order, then the results.
struct BufferAccess {
  unsigned buffer;
  OperandLoops loops;
  bool operator==(const BufferAccess &) const = default;
};
llvm::SmallVector<BufferAccess> getAccesses(graph::FuncOp kernel);

// The loops of a pointwise kernel, merged; not merged where an op asks for its indices.
PointwiseLoops getPointwiseLoops(graph::FuncOp kernel);

// #graph.window attributes of `op`, those of unsplit loops among them.
llvm::SmallVector<graph::WindowAttr> getWindows(mlir::Operation *op);

// How many of its ops draw random numbers. A kernel with such ops takes, after its windows, the first
// sample of the micro-batch and the stream of each of them.
unsigned countRandomOps(graph::FuncOp kernel);

// Sets kernel_range, kernel_points, kernel_combines, kernel_scalars and kernel_in_place from the body.
void setKernelAttributes(graph::FuncOp kernel);

// Names of these attributes.
inline constexpr llvm::StringLiteral kernelRangeName = "kernel_range";
inline constexpr llvm::StringLiteral kernelPointsName = "kernel_points";     // of a unit
inline constexpr llvm::StringLiteral kernelCombinesName = "kernel_combines"; // where a unit does
inline constexpr llvm::StringLiteral kernelScalarsName = "kernel_scalars";
inline constexpr llvm::StringLiteral kernelInPlaceName = "kernel_in_place";

// Of a call of a kernel, DenseI64ArrayAttr: for each result the mesh axes, a bit each, along which it
// is a part of a sum that is to be finished. Absent where none is.
inline constexpr llvm::StringLiteral kernelSharesName = "kernel_shares";

} // namespace dtc
