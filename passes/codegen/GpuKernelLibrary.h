// Device code of a module's kernel functions.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <memory>
#include <string>
#include <vector>

namespace dtc {

struct GpuKernel {
  std::string symbol;
  uint32_t threads; // of a block
  // The kernel that does several launches of it, and of those that differ in size alone, at once (MergedKernels.h); empty where
  // there is none.
  std::string merged;
};

// LLVM IR with a function for each kernel:
//   ptx_kernel void NAME(ptr buffer0, ..., ptr bufferN-1, i64 scalar0, ..., i64 range)
// Buffers, aligned to their elements, and scalars are those of KernelLibrary; block (x, y, z) does unit
// (z * blocks along y + y) * blocks along x + x where that is below `range`, with as many threads along x as the kernel says.
struct GpuModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module>
      module;                     // not yet optimised; empty of functions when there are no kernels
  std::vector<GpuKernel> kernels; // in the order of the source module
};

// Lowers the kernel functions of `module` but those of hosts; the module stays as it is. The IR depends on the kernels only, and is the same for all GPUs.
// Errors (as diagnostics): an op that has no kernel.
mlir::FailureOr<GpuModule> lowerGpuKernels(mlir::ModuleOp module);

// The last step of it: from functions that markGpuKernels has been over. `registry` must have the translations.
mlir::FailureOr<GpuModule> translateGpuKernels(mlir::ModuleOp kernels);
void registerGpuTranslations(mlir::DialectRegistry &registry);

} // namespace dtc
