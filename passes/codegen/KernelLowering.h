// The steps from kernel functions of the graph dialect to functions of the LLVM dialect.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/codegen/KernelLibrary.h"

namespace dtc {

// Registers the dialects whose ops the steps below create.
void registerLoweringDialects(mlir::DialectRegistry &registry);

// The kind of processor that runs the kernels.
enum class Processor { Cpu, Gpu };

// Step 1. Adds to `target` a func.func for every kernel function of `source` that runs on `place`.
// Its arguments are a memref<Nxtype> per operand and per result, an index per piece of
// kernel_scalars, and as indices the begin and the end of the units, or on a GPU their number
// (`range`). A pointwise kernel holds one linalg.generic over all points; any other holds its loops
// over the units, or on a GPU the work of one block.
llvm::LogicalResult convertKernels(mlir::ModuleOp source, mlir::ModuleOp target,
                                   Processor processor = Processor::Cpu,
                                   KernelPlace place = KernelPlace::Any);

// Step 2. Replaces every linalg.generic of a kernel by vector code in loops over the units.
llvm::LogicalResult vectorizeKernels(mlir::ModuleOp module);

// Step 2 on a GPU: replaces it by code for the unit of one block.
llvm::LogicalResult emitGpuPointwise(mlir::ModuleOp module);

// Step 3. Replaces every graph.random_word by calls of one shared function of the module.
void shareRandomWords(mlir::ModuleOp module);
// Lanes of a call: two AVX2 registers for each of the four words of a counter, so that none spills.
inline constexpr int64_t randomLanes = 8;

// Step 3 on a GPU. Expands the arithmetic inline: a call would keep a thread's registers in memory.
void inlineRandomWords(mlir::ModuleOp module);

// Step 4. Approximates functions of vectors, forms fused multiply-adds and converts everything to
// the LLVM dialect, with plain pointers for buffers.
void buildLlvmPipeline(mlir::OpPassManager &passes, Processor processor = Processor::Cpu);

// Step 5. Gives every kernel the runtime's signature:
//   void(ptr buffers, ptr scalars, i64 begin, i64 end)
void addKernelEntries(mlir::ModuleOp module);
// Step 5 on a GPU: the signature is void(ptr buffer, ..., i64 scalar, ..., i64 range); sets the
// number of threads of a block.
void markGpuKernels(mlir::ModuleOp module);

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
