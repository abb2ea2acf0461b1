// Every hand-written CUDA kernel, by planning launches of all shapes that choose one.
#pragma once

#include "kernels/cuda/Launch.h"

#include <vector>

namespace dtc::cuda {

// By name, each once.
std::vector<Launch> allLaunches();

} // namespace dtc::cuda
