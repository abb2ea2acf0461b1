// Launches of pooling; kernels/cpu/Pooling.h defines the semantics.
#pragma once

#include "kernels/cuda/Launch.h"
#include "kernels/cuda/PoolingParams.h"

#include <vector>

namespace dtc::cuda {

// Sets the derived fields of `params`, and `launches`, for the maximum or the mean of windows, or
// for the gradient of one. Returns an error message, or "".
[[nodiscard]] std::string planPooling(bool isMax, bool isGradient, PoolingParams &params,
                                      std::vector<Launch> &launches);

} // namespace dtc::cuda
