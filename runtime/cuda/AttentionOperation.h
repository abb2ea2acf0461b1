// Attention and its gradient as operations that cuDNN may compute.
#pragma once

#include "runtime/cuda/CudnnOperation.h"
#include "runtime/device/Device.h"

#include <memory>

namespace dtc::rt {

// Returns the operation of an Attention or AttentionGrad that cuDNN's patterns support, else null.
std::unique_ptr<CudnnOperation> attentionOperationOf(const Command &command);

} // namespace dtc::rt
