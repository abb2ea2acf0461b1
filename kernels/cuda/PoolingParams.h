// The only parameter of the kernels of pooling. Plain data, the same for host and device.
#pragma once

#include <stdint.h>

namespace dtc::cuda {

// The windows of kernels/cpu/Pooling.h, where the fields are described, in f32.
struct PoolingParams {
  const float *x;  // null for the gradient of means
  const float *dy; // of gradients
  float *out;      // the result, or the gradient of x
  int64_t planes;
  int32_t height, width, kernelHeight, kernelWidth;
  int32_t strideHeight, strideWidth, paddingHeight, paddingWidth;
  int32_t outHeight, outWidth; // planPooling sets them
};

} // namespace dtc::cuda
