// The stand-in for cuDNN.
#pragma once

#include "runtime/cuda/CudaLibraries.h"

namespace dtc::rt::fake {

// Fills cuDNN's table with the functions that stand in for it.
void fillCudnn(cu::Cudnn &cudnn);

} // namespace dtc::rt::fake
