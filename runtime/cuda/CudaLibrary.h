// Library instructions on a GPU: launches of the hand-written kernels of kernels/cuda.
#pragma once

#include "runtime/cuda/CudaCode.h"
#include "runtime/cuda/launches/LibraryLaunches.h"

namespace dtc::rt {

// Prepares planned launches, one after another.
Status prepareLaunches(const LibraryLaunches &planned, CudaCode &code,
                       std::vector<StreamWork> &works);

// Prepares `command`, an instruction that computes and is neither a launch nor a matrix product.
// Fails with Unavailable if its kind has no kernel.
Status prepareLibrary(const Command &command, CudaCode &code, std::vector<StreamWork> &works);

} // namespace dtc::rt
