// Convolutions of images.
//
// Sizes and strides are in elements, and tensors are row-major. The kernel splits its work over the
// given pool and gives bitwise the same result for any number of threads.
#pragma once

#include <cstdint>

namespace dtc::cpu {

class ThreadPool;

// y[b,f,i,j] = sum over c,p,q of x[b,c, i*stride - padding + p*dilation, j*...] w[f,c,p,q], in
// `groups` of channels and filters; pixels outside of the image are 0.
//   x  [batch, channels, height, width]
//   w  [filters, channels / groups, kernelHeight, kernelWidth]
//   y  [batch, filters, outHeight, outWidth]
// Cost: 2 * size of y * size of a filter flops, for each of the three below.
struct Conv2dShape {
  int64_t batch, channels, filters, groups, height, width;
  int64_t kernelHeight, kernelWidth;
  int64_t strideHeight = 1, strideWidth = 1, paddingHeight = 0, paddingWidth = 0;
  int64_t dilationHeight = 1, dilationWidth = 1;

  // Returns the height of y in pixels.
  int64_t outHeight() const {
    return (height + 2 * paddingHeight - dilationHeight * (kernelHeight - 1) - 1) / strideHeight +
           1;
  }
  // Returns the width of y in pixels.
  int64_t outWidth() const {
    return (width + 2 * paddingWidth - dilationWidth * (kernelWidth - 1) - 1) / strideWidth + 1;
  }
  // Returns the elements of one sample of x.
  int64_t imageSize() const { return channels * height * width; }
  // Returns the elements of one sample of y.
  int64_t resultSize() const { return filters * outHeight() * outWidth(); }
  // Returns the elements of w.
  int64_t weightSize() const { return filters * (channels / groups) * kernelHeight * kernelWidth; }
};
// Computes y.
void conv2d(const Conv2dShape &shape, const float *x, const float *weight, float *y,
            ThreadPool &pool);
// Computes the gradient of x.
void conv2dInputGrad(const Conv2dShape &shape, const float *dy, const float *weight, float *dx,
                     ThreadPool &pool);
// Computes the gradient of w. Sums `pieces` of the batch, each in its own part of `scratch`
// [pieces, size of w]; adds the total to dweight if `accumulate` is set, else writes it.
void conv2dWeightGrad(const Conv2dShape &shape, const float *x, const float *dy, float *dweight,
                      float *scratch, int64_t pieces, bool accumulate, ThreadPool &pool);

} // namespace dtc::cpu
