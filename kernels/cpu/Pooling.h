// Maxima and means of windows of images.
//
// Sizes and strides are in elements, and tensors are row-major. The kernel splits its work over the
// given pool and gives bitwise the same result for any number of threads.
#pragma once

#include <cstdint>

namespace dtc::cpu {

class ThreadPool;

// Windows of images, for each of the `planes` = batch * channels: their maximum over the pixels
// inside of the image, or their mean, for which outside pixels count as 0. Padding is at most half
// of the kernel.
//   x  [planes, height, width]
//   y  [planes, outHeight, outWidth]
// Cost: reads x and writes y once (backward: the other way), kernel size of y operations.
struct Pool2dShape {
  int64_t planes, height, width, kernelHeight, kernelWidth;
  int64_t strideHeight, strideWidth, paddingHeight, paddingWidth;

  // Returns the height of y in pixels.
  int64_t outHeight() const {
    return (height + 2 * paddingHeight - kernelHeight) / strideHeight + 1;
  }
  // Returns the width of y in pixels.
  int64_t outWidth() const { return (width + 2 * paddingWidth - kernelWidth) / strideWidth + 1; }
};
// Computes the maximum of each window.
void maxPool2d(const Pool2dShape &shape, const float *x, float *y, ThreadPool &pool);
// Computes the mean of each window.
void avgPool2d(const Pool2dShape &shape, const float *x, float *y, ThreadPool &pool);
// Computes dx: the sum of dy over the windows whose first maximum, row by row, is the pixel, else
// 0. Maxima are found again in x; a NaN counts as the maximum.
void maxPool2dGrad(const Pool2dShape &shape, const float *x, const float *dy, float *dx,
                   ThreadPool &pool);
// Computes dx: the sum of dy over the windows that contain the pixel, divided by the size of the
// kernel.
void avgPool2dGrad(const Pool2dShape &shape, const float *dy, float *dx, ThreadPool &pool);

} // namespace dtc::cpu
