// Means of windows of images and their gradient as operations that cuDNN may compute.
#pragma once

#include "runtime/cuda/CudnnOperation.h"
#include "runtime/device/Device.h"

#include <memory>

namespace dtc::rt {

// Returns the operation of a Pool2d or Pool2dGrad of means, else null. Maxima are not cuDNN's: how
// its gradient shares equal maxima, and what its maxima do with NaN, has not been measured.
std::unique_ptr<CudnnOperation> poolingOperationOf(const Command &command);

} // namespace dtc::rt
