// Lists every hand-written CUDA kernel, by planning launches of all shapes that choose one.
#pragma once

#include "kernels/cuda/Launch.h"

#include <vector>

namespace dtc::cuda {

// Returns the launches sorted by name, one per kernel.
std::vector<Launch> allLaunches();

} // namespace dtc::cuda
