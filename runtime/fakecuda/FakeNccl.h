// The stand-in for NCCL.
#pragma once

#include "runtime/cuda/CudaLibraries.h"

namespace dtc::rt::fake {

// Fills NCCL's table with the functions that stand in for it.
void fillNccl(cu::Nccl &nccl);

} // namespace dtc::rt::fake
