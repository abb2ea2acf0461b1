// Steps from kernel functions of the graph dialect to functions of the LLVM dialect.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/codegen/KernelLibrary.h"

namespace dtc {

// The dialects that the steps below create ops of.
void registerLoweringDialects(mlir::DialectRegistry &registry);

// What runs the kernels.
enum class Processor { Cpu, Gpu };

// 1. Adds to `target` a func.func for every kernel function of `source` at `place`, with the arguments
//    (memref<Nxtype> per operand, memref<Nxtype> per result, index per piece of kernel_scalars,
//    begin: index, end: index); on a GPU (..., range: index). Pointwise kernels hold one
//    linalg.generic over all points; the others hold their loops over the units, on a GPU the work of
//    one block.
llvm::LogicalResult convertKernels(mlir::ModuleOp source, mlir::ModuleOp target,
                                   Processor processor = Processor::Cpu,
                                   KernelPlace place = KernelPlace::Any);

// 2. Replaces every linalg.generic of a kernel by vector code in loops over the units.
llvm::LogicalResult vectorizeKernels(mlir::ModuleOp module);

// The same on a GPU, for the unit of one block.
llvm::LogicalResult emitGpuPointwise(mlir::ModuleOp module);

// 3. Replaces every graph.random_word by calls of one function of the module.
void shareRandomWords(mlir::ModuleOp module);
// Lanes of a call: with two AVX2 registers for each of the four words of a counter, none is spilled.
inline constexpr int64_t randomLanes = 8;

// By the arithmetic itself: on a GPU a call would keep a thread's registers in memory.
void inlineRandomWords(mlir::ModuleOp module);

// 4. Approximates functions of vectors, forms fused multiply-adds, and converts all to the LLVM
//    dialect with plain pointers for buffers.
void buildLlvmPipeline(mlir::OpPassManager &passes, Processor processor = Processor::Cpu);

// 5. Gives every kernel the runtime's signature:
//    void(ptr buffers, ptr scalars, i64 begin, i64 end).
void addKernelEntries(mlir::ModuleOp module);
//    On a GPU void(ptr buffer, ..., i64 scalar, ..., i64 range), with the block's threads.
void markGpuKernels(mlir::ModuleOp module);

// How a func.func of step 1 divides its arguments.
struct KernelSignature {
  unsigned numBuffers, numWindows, numScalars; // windows are the first of the scalars
  static KernelSignature of(graph::FuncOp kernel);
  // The first sample of the micro-batch, where ops draw random numbers; their streams follow.
  unsigned firstRandom() const { return numBuffers + numWindows; }
  unsigned begin() const { return numBuffers + numScalars; }
  unsigned end() const { return begin() + 1; }
};
inline constexpr llvm::StringLiteral numScalarsName = "dtc.num_scalars";

} // namespace dtc
