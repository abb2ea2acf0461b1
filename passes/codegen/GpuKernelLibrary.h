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

// One kernel of a GpuModule.
struct GpuKernel {
  std::string symbol;
  uint32_t threads; // threads of a block
  // The kernel that does several launches at once, of this kernel and of those that differ only in
  // size (MergedKernels.h); empty if there is none.
  std::string merged;
};

// LLVM IR with a function for each kernel:
//   ptx_kernel void NAME(ptr buffer0, ..., ptr bufferN-1, i64 scalar0, ..., i64 range)
// Buffers, aligned to their elements, and scalars are those of KernelLibrary. Block (x, y, z) does
// unit (z * blocks along y + y) * blocks along x + x if that is below `range`, with
// GpuKernel::threads threads along x.
struct GpuModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module>
      module;                     // not yet optimised; has no functions if there are no kernels
  std::vector<GpuKernel> kernels; // in the order of the source module
};

// Lowers the kernel functions of `module` except those of hosts; leaves the module as it is. The IR
// depends only on the kernels and is the same for all GPUs. Errors (as diagnostics): an op that has
// no kernel.
mlir::FailureOr<GpuModule> lowerGpuKernels(mlir::ModuleOp module);

// Translates functions that markGpuKernels has prepared to LLVM IR: the last step of
// lowerGpuKernels. Their context must have the translations of registerGpuTranslations.
mlir::FailureOr<GpuModule> translateGpuKernels(mlir::ModuleOp kernels);
// Registers the translations to LLVM IR that translateGpuKernels needs.
void registerGpuTranslations(mlir::DialectRegistry &registry);

} // namespace dtc
