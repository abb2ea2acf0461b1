// Convolution and its gradients as operations that cuDNN may compute.
#pragma once

#include "runtime/cuda/CudnnOperation.h"
#include "runtime/device/Device.h"

#include <memory>

namespace dtc::rt {

// Returns the operation of a Conv2d or one of its gradients, else null. A gradient of a weight that
// adds to the sum so far is computed into its scratch memory, and added by our kernel.
std::unique_ptr<CudnnOperation> convolutionOperationOf(const Command &command);

} // namespace dtc::rt
