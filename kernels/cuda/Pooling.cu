// Maxima and means of windows of images in f32, and their gradients.
//
// Launch: one thread per pixel of the result, or of the image for a gradient, which adds up the
// windows that have the pixel, row by row, as CPUs do.
//
// Cost: reads the image once for each pixel of the kernel: bandwidth-bound, mostly of the caches.
// The gradient of maxima finds them again: as often as windows have a pixel.
#include "kernels/cuda/Device.h"
#include "kernels/cuda/PoolingParams.h"
#include "kernels/cuda/PoolingTiling.h"

namespace dtc::cuda {

namespace {

// The part of a window inside of an image: rows [top, bottom), columns [left, right).
struct Inside {
  int top, left, bottom, right;

  DTC_DEVICE Inside(const PoolingParams &p, int row, int column) {
    top = row * p.strideHeight - p.paddingHeight;
    left = column * p.strideWidth - p.paddingWidth;
    bottom = least(top + p.kernelHeight, p.height);
    right = least(left + p.kernelWidth, p.width);
    top = greatest(top, 0), left = greatest(left, 0);
  }
};

// Returns the index in the plane of the first maximum of a window; a NaN is greater than all
// numbers.
DTC_DEVICE int findMaximum(const PoolingParams &p, const float *plane, const Inside &window) {
  int best = window.top * p.width + window.left;
  float most = plane[best];
  for (int row = window.top; row < window.bottom; ++row)
    for (int column = window.left; column < window.right; ++column) {
      float value = plane[row * p.width + column];
      if (value > most || (value != value && most == most))
        best = row * p.width + column, most = value;
    }
  return best;
}

// The pixel of a thread.
struct Own {
  int64_t plane;
  int row, column;
  bool exists;

  DTC_DEVICE Own(const PoolingParams &p, int height, int width) {
    int64_t index = int64_t(blockIndex()) * kPoolingThreads + threadIndex();
    int pixels = height * width;
    plane = index / pixels;
    int rest = static_cast<int>(index - plane * pixels);
    row = rest / width, column = rest - row * width;
    exists = plane < p.planes;
  }
};

// Calls body(window, its index among those of a plane) for the windows that have a pixel, in order.
template <typename Body>
DTC_DEVICE void forWindows(const PoolingParams &p, const Own &own, const Body &body) {
  int row = own.row + p.paddingHeight, column = own.column + p.paddingWidth;
  int firstRow = row < p.kernelHeight ? 0 : (row - p.kernelHeight) / p.strideHeight + 1;
  int firstColumn = column < p.kernelWidth ? 0 : (column - p.kernelWidth) / p.strideWidth + 1;
  int lastRow = least(row / p.strideHeight, p.outHeight - 1);
  int lastColumn = least(column / p.strideWidth, p.outWidth - 1);
  for (int i = firstRow; i <= lastRow; ++i)
    for (int j = firstColumn; j <= lastColumn; ++j)
      body(Inside(p, i, j), i * p.outWidth + j);
}

} // namespace

DTC_KERNEL(kPoolingThreads, 1) Pooling_max(const PoolingParams p) {
  Own own(p, p.outHeight, p.outWidth);
  if (!own.exists)
    return;
  const float *plane = p.x + own.plane * p.height * p.width;
  p.out[(own.plane * p.outHeight + own.row) * p.outWidth + own.column] =
      plane[findMaximum(p, plane, Inside(p, own.row, own.column))];
}

DTC_KERNEL(kPoolingThreads, 1) Pooling_mean(const PoolingParams p) {
  Own own(p, p.outHeight, p.outWidth);
  if (!own.exists)
    return;
  const float *plane = p.x + own.plane * p.height * p.width;
  Inside window(p, own.row, own.column);
  float sum = 0;
  for (int row = window.top; row < window.bottom; ++row)
    for (int column = window.left; column < window.right; ++column)
      sum += plane[row * p.width + column];
  float share = 1.0f / static_cast<float>(p.kernelHeight * p.kernelWidth);
  p.out[(own.plane * p.outHeight + own.row) * p.outWidth + own.column] = sum * share;
}

DTC_KERNEL(kPoolingThreads, 1) Pooling_maxGrad(const PoolingParams p) {
  Own own(p, p.height, p.width);
  if (!own.exists)
    return;
  const float *plane = p.x + own.plane * p.height * p.width;
  const float *dy = p.dy + own.plane * p.outHeight * p.outWidth;
  int pixel = own.row * p.width + own.column;
  float sum = 0;
  forWindows(p, own, [&](const Inside &window, int index) {
    if (findMaximum(p, plane, window) == pixel)
      sum += dy[index];
  });
  p.out[own.plane * p.height * p.width + pixel] = sum;
}

DTC_KERNEL(kPoolingThreads, 1) Pooling_meanGrad(const PoolingParams p) {
  Own own(p, p.height, p.width);
  if (!own.exists)
    return;
  const float *dy = p.dy + own.plane * p.outHeight * p.outWidth;
  float share = 1.0f / static_cast<float>(p.kernelHeight * p.kernelWidth);
  float sum = 0;
  forWindows(p, own, [&](const Inside &, int index) { sum += dy[index] * share; });
  p.out[own.plane * p.height * p.width + own.row * p.width + own.column] = sum;
}

} // namespace dtc::cuda
