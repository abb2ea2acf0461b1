// Pooling and its gradients. Uses own loops instead of oneDNN's, whose maximum would save an index
// for every result from forward to backward; all of it is bound by memory.
#include "kernels/cpu/Pooling.h"

#include "kernels/cpu/ThreadPool.h"

#include <algorithm>
#include <cmath>

namespace dtc::cpu {

namespace {

// Least pixels for which waking a thread pays.
constexpr int64_t pixelsPerPiece = 16 * 1024;

// The part of a window inside of an image: rows [top, bottom), columns [left, right).
struct Inside {
  Inside(const Pool2dShape &s, int64_t i, int64_t j)
      : top(i * s.strideHeight - s.paddingHeight), left(j * s.strideWidth - s.paddingWidth),
        bottom(std::min(top + s.kernelHeight, s.height)),
        right(std::min(left + s.kernelWidth, s.width)) {
    top = std::max<int64_t>(top, 0);
    left = std::max<int64_t>(left, 0);
  }
  int64_t top, left, bottom, right;
};

// Calls body(plane, window, result), where result is the index of the window's pixel in all of y.
// One thread visits the windows of a plane in order, as they may overlap.
template <typename Body> void forWindows(const Pool2dShape &s, ThreadPool &pool, const Body &body) {
  int64_t height = s.outHeight(), width = s.outWidth();
  int64_t grain = std::max<int64_t>(pixelsPerPiece / std::max<int64_t>(s.height * s.width, 1), 1);
  pool.parallelFor(s.planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane)
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j)
          body(plane, Inside(s, i, j), (plane * height + i) * width + j);
  });
}

// Returns the index in the plane of the first maximum of a window; a NaN is greater than all
// numbers.
int64_t findMaximum(const Pool2dShape &s, const float *plane, const Inside &window) {
  int64_t best = window.top * s.width + window.left;
  for (int64_t row = window.top; row < window.bottom; ++row)
    for (int64_t column = window.left; column < window.right; ++column) {
      int64_t index = row * s.width + column;
      if (plane[index] > plane[best] || (std::isnan(plane[index]) && !std::isnan(plane[best])))
        best = index;
    }
  return best;
}

void zeroImages(const Pool2dShape &s, float *dx, ThreadPool &pool) {
  pool.parallelFor(s.planes * s.height * s.width, pixelsPerPiece,
                   [&](int64_t begin, int64_t end) { std::fill(dx + begin, dx + end, 0.0f); });
}

} // namespace

void maxPool2d(const Pool2dShape &shape, const float *x, float *y, ThreadPool &pool) {
  forWindows(shape, pool, [&](int64_t plane, const Inside &window, int64_t result) {
    const float *image = x + plane * shape.height * shape.width;
    y[result] = image[findMaximum(shape, image, window)];
  });
}

void maxPool2dGrad(const Pool2dShape &shape, const float *x, const float *dy, float *dx,
                   ThreadPool &pool) {
  zeroImages(shape, dx, pool);
  forWindows(shape, pool, [&](int64_t plane, const Inside &window, int64_t result) {
    int64_t start = plane * shape.height * shape.width;
    dx[start + findMaximum(shape, x + start, window)] += dy[result];
  });
}

void avgPool2d(const Pool2dShape &shape, const float *x, float *y, ThreadPool &pool) {
  float share = 1.0f / static_cast<float>(shape.kernelHeight * shape.kernelWidth);
  forWindows(shape, pool, [&](int64_t plane, const Inside &window, int64_t result) {
    const float *image = x + plane * shape.height * shape.width;
    float sum = 0;
    for (int64_t row = window.top; row < window.bottom; ++row)
      for (int64_t column = window.left; column < window.right; ++column)
        sum += image[row * shape.width + column];
    y[result] = sum * share;
  });
}

void avgPool2dGrad(const Pool2dShape &shape, const float *dy, float *dx, ThreadPool &pool) {
  float share = 1.0f / static_cast<float>(shape.kernelHeight * shape.kernelWidth);
  zeroImages(shape, dx, pool);
  forWindows(shape, pool, [&](int64_t plane, const Inside &window, int64_t result) {
    float *image = dx + plane * shape.height * shape.width;
    for (int64_t row = window.top; row < window.bottom; ++row)
      for (int64_t column = window.left; column < window.right; ++column)
        image[row * shape.width + column] += dy[result] * share;
  });
}

} // namespace dtc::cpu
