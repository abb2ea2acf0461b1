// Links the hand-written kernels of kernels/cuda into a program's device code.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace dtc {

// Adds the kernels of these names (Launch::kernel) to `device`, with the functions that they use;
// kernels that it already has are not added again. Everything but kernels gets internal linkage.
// The code takes the target of the next step (compilePtx, compileForSimt). Errors: a name that no
// kernel has.
//
// Example: linkLibraryKernels(*gpuModule.module, {"AttentionForward_bf16_64", "StridedCopy_4"})
llvm::Error linkLibraryKernels(llvm::Module &device, llvm::ArrayRef<llvm::StringRef> names);

} // namespace dtc
