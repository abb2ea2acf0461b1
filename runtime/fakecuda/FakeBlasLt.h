// The stand-in for cuBLASLt.
#pragma once

#include "runtime/cuda/CudaLibraries.h"

namespace dtc::rt::fake {

// Fills cuBLASLt's table with the functions that stand in for it.
void fillBlasLt(cu::BlasLt &blas);

} // namespace dtc::rt::fake
