// Lists the hand-written kernels that a program launches on a GPU.
#pragma once

#include "dialects/exec/Exec.h"

#include "mlir/Support/LLVM.h"

#include <string>
#include <vector>

namespace dtc {

// The names of kernels of kernels/cuda that the instructions of `programs` are, in order of the
// alphabet. Errors (as diagnostics, at the instruction): what has no kernel for GPUs.
mlir::FailureOr<std::vector<std::string>>
launchedLibraryKernels(llvm::ArrayRef<exec::ProgramOp> programs);

} // namespace dtc
