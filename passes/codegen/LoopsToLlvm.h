// Steps 4 and 5 of the lowering of kernels: functions of the LLVM dialect.
#pragma once

#include "passes/codegen/Processor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace dtc {

// Registers the dialects whose ops the steps below create.
void registerLoweringDialects(mlir::DialectRegistry &registry);

// Step 4. Approximates functions of vectors, forms fused multiply-adds and converts everything to
// the LLVM dialect, with plain pointers for buffers.
void buildLlvmPipeline(mlir::OpPassManager &passes, Processor processor = Processor::Cpu);

// Step 5. Gives every kernel the runtime's signature:
//   void(ptr buffers, ptr scalars, i64 begin, i64 end)
void addKernelEntries(mlir::ModuleOp module);
// Step 5 on a GPU: the signature is void(ptr buffer, ..., i64 scalar, ..., i64 range); sets the
// number of threads of a block.
void markGpuKernels(mlir::ModuleOp module);

} // namespace dtc
