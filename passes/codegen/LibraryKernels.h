// The hand-written kernels of kernels/cuda among a program's device code.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace dtc {

// Adds kernels of these names (Launch::kernel) to `device`, with what they use and nothing else; those that it has already are not
// added again. All but kernels gets internal linkage, and code for the target of whoever compiles `device` next (compilePtx,
// compileForSimt). Errors: a name that no kernel has.
//
// Example: linkLibraryKernels(*gpuModule.module, {"AttentionForward_bf16_64", "StridedCopy_4"})
llvm::Error linkLibraryKernels(llvm::Module &device, llvm::ArrayRef<llvm::StringRef> names);

} // namespace dtc
