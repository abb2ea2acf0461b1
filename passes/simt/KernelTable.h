// The table that the emulator reads from the object: simt::abi::ModuleInfo with kernels, variables
// and imports.
#pragma once

#include "passes/simt/DeviceCalls.h"
#include "passes/simt/SharedLayout.h"

namespace dtc {

// The launch limits that a kernel declares, in threads per block.
struct KernelLimits {
  uint32_t requiredThreads = 0; // 0: any number
  uint32_t maxThreads = 0;
};

// Returns the kernels of a module, found by calling convention or nvvm.annotations, and removes
// both marks: the functions become ordinary ones.
llvm::SmallVector<std::pair<llvm::Function *, KernelLimits>> takeKernels(llvm::Module &module);

// Adds an entry function for each kernel, which takes its parameters as cuLaunchKernel gets them,
// and the table of all kernels.
void addKernelTable(llvm::Module &module,
                    llvm::ArrayRef<std::pair<llvm::Function *, KernelLimits>> kernels,
                    const SharedLayout &shared, const DeviceCalls &calls, Sites &sites);

} // namespace dtc
