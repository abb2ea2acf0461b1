// Instructions of the library on a GPU: launches of the hand-written kernels of kernels/cuda.
#pragma once

#include "runtime/cuda/CudaCode.h"

namespace dtc::rt {

// What `command` is, an instruction that computes but no launch or product. Unavailable for a kind that has no kernel.
Status prepareLibrary(const Command &command, CudaCode &code, std::vector<StreamWork> &works);

} // namespace dtc::rt
