// What the emulator reads of the object: simt::abi::ModuleInfo with kernels, variables and imports.
#pragma once

#include "passes/simt/DeviceCalls.h"
#include "passes/simt/SharedLayout.h"

namespace dtc {

// What a kernel says of its launches.
struct KernelLimits {
  uint32_t requiredThreads = 0; // 0: any number
  uint32_t maxThreads = 0;
};

// The kernels of a module, by calling convention or nvvm.annotations, which it removes; from here on they are ordinary
// functions in a list.
llvm::SmallVector<std::pair<llvm::Function *, KernelLimits>> takeKernels(llvm::Module &module);

// Adds an entry for each kernel, which takes its parameters as cuLaunchKernel gets them, and the table of all.
void addKernelTable(llvm::Module &module,
                    llvm::ArrayRef<std::pair<llvm::Function *, KernelLimits>> kernels,
                    const SharedLayout &shared, const DeviceCalls &calls, Sites &sites);

} // namespace dtc
