// Launches of convolutions; kernels/cpu/Convolution.h defines the semantics.
#pragma once

#include "kernels/cuda/ConvolutionParams.h"
#include "kernels/cuda/Launch.h"

#include <vector>

namespace dtc::cuda {

// Sets the derived fields of `params`, and `launches`; none if there is nothing to write. Returns
// an error message, or "".
[[nodiscard]] std::string planConvolution(ConvolutionParams &params, std::vector<Launch> &launches);
// Same as planConvolution, for the gradient of the image.
[[nodiscard]] std::string planConvolutionInputGrad(ConvolutionParams &params,
                                                   std::vector<Launch> &launches);
// Same as planConvolution, for the gradient of the weight.
[[nodiscard]] std::string planConvolutionWeightGrad(ConvolutionParams &params,
                                                    std::vector<Launch> &launches);

} // namespace dtc::cuda
