// The only parameter of the kernels of convolutions. Plain data, the same for host and device.
#pragma once

#include <stdint.h>

namespace dtc::cuda {

// The convolutions of kernels/cpu/Convolution.h, where the fields are described, in f32.
struct ConvolutionParams {
  // The image, or for the gradient of the image that of the result; the weight, or for the gradient
  // of the weight that of the result.
  const float *pixels, *factors;
  float *out;     // the result, the gradient of the image, or that of the weight
  float *scratch; // [pieces, size of a weight], of the gradient of the weight
  int32_t batch, channels, filters, groups, height, width;
  int32_t kernelHeight, kernelWidth, strideHeight, strideWidth;
  int32_t paddingHeight, paddingWidth, dilationHeight, dilationWidth;
  int32_t pieces, accumulate;
  // Set by the functions that plan: the pixels of a result, and the tiles along the rows and the
  // columns of the product of a group.
  int32_t outHeight, outWidth, rowTiles, columnTiles;
};

} // namespace dtc::cuda
