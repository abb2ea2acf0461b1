#include "kernels/cpu/Pooling.h"
#include "kernels/cpu/Attention.h"
#include "test/unit/kernels/KernelsTestSupport.h"

namespace dtc::cpu {
namespace {

using namespace test;

// Calls body(element of x, of y) for every pixel of every window, row by row, by the definition.
template <typename Body> void forPixels(const Pool2dShape &s, const Body &body) {
  for (int64_t plane = 0; plane < s.planes; ++plane)
    for (int64_t i = 0; i < s.outHeight(); ++i)
      for (int64_t j = 0; j < s.outWidth(); ++j)
        for (int64_t p = 0; p < s.kernelHeight; ++p)
          for (int64_t q = 0; q < s.kernelWidth; ++q) {
            int64_t row = i * s.strideHeight - s.paddingHeight + p;
            int64_t column = j * s.strideWidth - s.paddingWidth + q;
            if (row >= 0 && row < s.height && column >= 0 && column < s.width)
              body((plane * s.height + row) * s.width + column,
                   (plane * s.outHeight() + i) * s.outWidth() + j);
          }
}

const Pool2dShape shapes[] = {
    {.planes = 1,
     .height = 1,
     .width = 1,
     .kernelHeight = 1,
     .kernelWidth = 1,
     .strideHeight = 1,
     .strideWidth = 1,
     .paddingHeight = 0,
     .paddingWidth = 0},
    // Windows are side by side, overlapping with a border, or leave out some pixels.
    {.planes = 33,
     .height = 8,
     .width = 6,
     .kernelHeight = 2,
     .kernelWidth = 3,
     .strideHeight = 2,
     .strideWidth = 3,
     .paddingHeight = 0,
     .paddingWidth = 0},
    {.planes = 5,
     .height = 7,
     .width = 9,
     .kernelHeight = 3,
     .kernelWidth = 4,
     .strideHeight = 1,
     .strideWidth = 2,
     .paddingHeight = 1,
     .paddingWidth = 2},
    {.planes = 1000,
     .height = 7,
     .width = 5,
     .kernelHeight = 2,
     .kernelWidth = 2,
     .strideHeight = 3,
     .strideWidth = 3,
     .paddingHeight = 1,
     .paddingWidth = 0}};

int64_t resultSize(const Pool2dShape &s) { return s.planes * s.outHeight() * s.outWidth(); }

// Returns numbers with many equal values, of which the first counts.
std::vector<float> roundedFloats(int64_t count, uint32_t seed) {
  std::vector<float> values = randomFloats(count, seed);
  for (float &value : values)
    value = std::round(value * 2);
  return values;
}

TEST(Pooling, TakesTheFirstMaximumAndItsGradient) {
  for (const Pool2dShape &s : shapes)
    for (int threads : {1, 3}) {
      auto x = roundedFloats(s.planes * s.height * s.width, 1), dy = randomFloats(resultSize(s), 2);
      std::vector<float> y(dy.size(), NAN), dx(x.size(), NAN), wanted(dy.size());
      std::vector<int64_t> from(dy.size(), -1);
      std::vector<float> wantedDx(x.size());
      forPixels(s, [&](int64_t pixel, int64_t result) {
        if (from[result] < 0 || x[pixel] > x[from[result]])
          from[result] = pixel;
      });
      for (size_t i = 0; i < from.size(); ++i) {
        wanted[i] = x[from[i]];
        wantedDx[from[i]] += dy[i];
      }
      ThreadPool pool(threads);
      maxPool2d(s, x.data(), y.data(), pool);
      maxPool2dGrad(s, x.data(), dy.data(), dx.data(), pool);
      EXPECT_TRUE(sameBits(y, wanted));
      EXPECT_TRUE(sameBits(dx, wantedDx));
    }
}

TEST(Pooling, TakesTheMeanOfAllPixelsOfTheKernel) {
  for (const Pool2dShape &s : shapes)
    for (int threads : {1, 3}) {
      auto x = randomFloats(s.planes * s.height * s.width, 1), dy = randomFloats(resultSize(s), 2);
      std::vector<float> y(dy.size(), NAN), dx(x.size(), NAN);
      std::vector<double> wanted(dy.size()), wantedDx(x.size());
      double pixels = static_cast<double>(s.kernelHeight * s.kernelWidth);
      forPixels(s, [&](int64_t pixel, int64_t result) {
        wanted[result] += x[pixel] / pixels;
        wantedDx[pixel] += dy[result] / pixels;
      });
      ThreadPool pool(threads);
      avgPool2d(s, x.data(), y.data(), pool);
      avgPool2dGrad(s, dy.data(), dx.data(), pool);
      expectClose(y, wanted, 1e-6, "mean");
      expectClose(dx, wantedDx, 1e-6, "gradient of the mean");
    }
}

// The first of several NaN counts, as for equal values.
TEST(Pooling, HandsOnNan) {
  const Pool2dShape s{.planes = 1,
                      .height = 1,
                      .width = 9,
                      .kernelHeight = 1,
                      .kernelWidth = 3,
                      .strideHeight = 1,
                      .strideWidth = 3,
                      .paddingHeight = 0,
                      .paddingWidth = 0};
  const float x[] = {1, NAN, 2, NAN, 2, NAN, 1, NAN, NAN}, dy[] = {3, 4, 5};
  float y[3], dx[9];
  ThreadPool pool(1);
  maxPool2d(s, x, y, pool);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(y[2]));
  maxPool2dGrad(s, x, dy, dx, pool);
  EXPECT_EQ(std::vector<float>(dx, dx + 9), (std::vector<float>{0, 3, 0, 4, 0, 0, 0, 5, 0}));
}

} // namespace
} // namespace dtc::cpu
