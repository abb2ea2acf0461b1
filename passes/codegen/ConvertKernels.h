// Step 1 of the lowering of kernels: functions of the graph dialect become functions over buffers.
#pragma once

#include "dialects/graph/Graph.h"
#include "passes/codegen/KernelSide.h"
#include "passes/codegen/Processor.h"

#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Step 1. Adds to `target` a func.func for every kernel function of `source` that runs on `side`.
// Its arguments are a memref<Nxtype> per operand and per result, an index per piece of
// kernel_scalars, and as indices the begin and the end of the units, or on a GPU their number
// (`range`). A pointwise kernel holds one linalg.generic over all points; any other holds its loops
// over the units, or on a GPU the work of one block.
llvm::LogicalResult convertKernels(mlir::ModuleOp source, mlir::ModuleOp target,
                                   Processor processor = Processor::Cpu,
                                   KernelSide side = KernelSide::Any);

// The division of the arguments of a func.func of step 1.
struct KernelSignature {
  unsigned numBuffers, numWindows, numScalars; // the windows are the first of the scalars
  // Reads the counts from the kernel's type and attributes.
  static KernelSignature of(graph::FuncOp kernel);
  // Returns the argument that is the first sample of the micro-batch if ops draw random numbers;
  // their streams follow.
  unsigned firstRandom() const { return numBuffers + numWindows; }
  // Returns the argument that begins the range of units.
  unsigned begin() const { return numBuffers + numScalars; }
  // Returns the argument that ends it.
  unsigned end() const { return begin() + 1; }
};
inline constexpr llvm::StringLiteral numScalarsName = "dtc.num_scalars";

} // namespace dtc
