#include "kernels/cpu/Convolution.h"
#include "kernels/cpu/Attention.h"
#include "test/unit/kernels/KernelsTestSupport.h"

namespace dtc::cpu {
namespace {

using namespace test;

std::string describe(const Conv2dShape &s) {
  std::string text;
  for (int64_t size : {s.batch, s.channels, s.filters, s.groups, s.height, s.width, s.kernelHeight,
                       s.kernelWidth, s.strideHeight, s.strideWidth, s.paddingHeight,
                       s.paddingWidth, s.dilationHeight, s.dilationWidth})
    text += std::to_string(size) + " ";
  return text;
}

// Calls body(element of x, of w, of y) for every product, by the definition.
template <typename Body> void forProducts(const Conv2dShape &s, const Body &body) {
  int64_t inGroup = s.channels / s.groups, height = s.outHeight(), width = s.outWidth();
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t f = 0; f < s.filters; ++f)
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j)
          for (int64_t c = 0; c < inGroup; ++c)
            for (int64_t p = 0; p < s.kernelHeight; ++p)
              for (int64_t q = 0; q < s.kernelWidth; ++q) {
                int64_t row = i * s.strideHeight - s.paddingHeight + p * s.dilationHeight;
                int64_t column = j * s.strideWidth - s.paddingWidth + q * s.dilationWidth;
                if (row < 0 || row >= s.height || column < 0 || column >= s.width)
                  continue;
                int64_t channel = f / (s.filters / s.groups) * inGroup + c;
                body(((b * s.channels + channel) * s.height + row) * s.width + column,
                     ((f * inGroup + c) * s.kernelHeight + p) * s.kernelWidth + q,
                     ((b * s.filters + f) * height + i) * width + j);
              }
}

// Sizes for which libraries use different algorithms: one of each, many, odd, and more samples than
// a call takes.
std::vector<Conv2dShape> shapes() {
  std::vector<Conv2dShape> all;
  for (int64_t channels : {1, 3, 16, 33})
    for (int64_t kernel : {1, 3, 5})
      all.push_back({.batch = 5,
                     .channels = channels,
                     .filters = 16,
                     .groups = 1,
                     .height = 9,
                     .width = 8,
                     .kernelHeight = kernel,
                     .kernelWidth = kernel,
                     .paddingHeight = kernel / 2,
                     .paddingWidth = kernel / 2});
  all.push_back({.batch = 1,
                 .channels = 1,
                 .filters = 1,
                 .groups = 1,
                 .height = 1,
                 .width = 1,
                 .kernelHeight = 1,
                 .kernelWidth = 1});
  all.push_back({.batch = 9,
                 .channels = 8,
                 .filters = 12,
                 .groups = 4,
                 .height = 11,
                 .width = 7,
                 .kernelHeight = 3,
                 .kernelWidth = 2,
                 .strideHeight = 2,
                 .strideWidth = 3,
                 .paddingHeight = 2,
                 .paddingWidth = 1});
  all.push_back({.batch = 3,
                 .channels = 6,
                 .filters = 6,
                 .groups = 6,
                 .height = 10,
                 .width = 12,
                 .kernelHeight = 3,
                 .kernelWidth = 3,
                 .paddingHeight = 2,
                 .paddingWidth = 3,
                 .dilationHeight = 2,
                 .dilationWidth = 3});
  all.push_back({.batch = 7,
                 .channels = 32,
                 .filters = 31,
                 .groups = 1,
                 .height = 14,
                 .width = 14,
                 .kernelHeight = 3,
                 .kernelWidth = 3,
                 .paddingHeight = 1,
                 .paddingWidth = 1});
  // Blocks of 16 channels without padding, whose gradients of weights are summed in that layout, of
  // images and depthwise; the last piece of the batch is smaller.
  for (int64_t groups : {1, 32})
    all.push_back({.batch = 11,
                   .channels = 32,
                   .filters = 32,
                   .groups = groups,
                   .height = 6,
                   .width = 7,
                   .kernelHeight = 3,
                   .kernelWidth = 3,
                   .strideHeight = 2,
                   .paddingHeight = 1,
                   .paddingWidth = 1});
  // Strides beyond the image and dilations without effect, for which sums inside of oneDNN
  // overflow.
  all.push_back({.batch = 2,
                 .channels = 2,
                 .filters = 4,
                 .groups = 1,
                 .height = 4,
                 .width = 4,
                 .kernelHeight = 3,
                 .kernelWidth = 1,
                 .strideWidth = 2147483647,
                 .paddingHeight = 1,
                 .paddingWidth = 1,
                 .dilationWidth = 2147483647});
  // Each shape differs from the base in one number, and has a primitive of its own.
  const Conv2dShape base{.batch = 2,
                         .channels = 2,
                         .filters = 2,
                         .groups = 1,
                         .height = 9,
                         .width = 9,
                         .kernelHeight = 2,
                         .kernelWidth = 2};
  all.push_back(base);
  for (auto field :
       {&Conv2dShape::groups, &Conv2dShape::height, &Conv2dShape::width, &Conv2dShape::kernelHeight,
        &Conv2dShape::kernelWidth, &Conv2dShape::strideHeight, &Conv2dShape::strideWidth,
        &Conv2dShape::paddingHeight, &Conv2dShape::paddingWidth, &Conv2dShape::dilationHeight,
        &Conv2dShape::dilationWidth}) {
    all.push_back(base);
    ++(all.back().*field);
  }
  return all;
}

// Sums of n products of numbers up to 1 have a rounding error of about sqrt(n) * 6e-8.
constexpr double tolerance = 1e-5;

struct Case {
  explicit Case(const Conv2dShape &s)
      : shape(s), x(randomFloats(s.batch * s.imageSize(), 1)), w(randomFloats(s.weightSize(), 2)),
        y(randomFloats(s.batch * s.resultSize(), 3)) {}
  Conv2dShape shape;
  std::vector<float> x, w, y;
};

TEST(Conv2d, SumsProductsOfImageAndKernel) {
  for (const Conv2dShape &shape : shapes()) {
    Case c(shape);
    std::vector<double> wanted(c.y.size()), sizes(c.y.size());
    forProducts(shape, [&](int64_t x, int64_t w, int64_t y) {
      double product = static_cast<double>(c.x[x]) * c.w[w];
      wanted[y] += product, sizes[y] += std::abs(product);
    });
    ThreadPool pool(2);
    conv2d(shape, c.x.data(), c.w.data(), c.y.data(), pool);
    expectSums(c.y, wanted, sizes, tolerance, describe(shape));
  }
}

TEST(Conv2dInputGrad, SumsProductsOfResultsAndKernel) {
  for (const Conv2dShape &shape : shapes()) {
    Case c(shape);
    std::vector<double> wanted(c.x.size());
    forProducts(shape, [&](int64_t x, int64_t w, int64_t y) {
      wanted[x] += static_cast<double>(c.y[y]) * c.w[w];
    });
    ThreadPool pool(2);
    conv2dInputGrad(shape, c.y.data(), c.w.data(), c.x.data(), pool);
    expectClose(c.x, wanted, tolerance, describe(shape));
  }
}

TEST(Conv2dWeightGrad, SumsProductsOfImageAndResultsInPieces) {
  for (const Conv2dShape &shape : shapes())
    for (bool accumulate : {false, true})
      for (int64_t pieces : {1, 2, 4, 8}) {
        Case c(shape);
        std::vector<double> wanted(c.w.size());
        if (accumulate)
          wanted.assign(c.w.begin(), c.w.end());
        forProducts(shape, [&](int64_t x, int64_t w, int64_t y) {
          wanted[w] += static_cast<double>(c.x[x]) * c.y[y];
        });
        ThreadPool pool(2);
        std::vector<float> scratch(static_cast<size_t>(pieces * shape.weightSize()), NAN);
        conv2dWeightGrad(shape, c.x.data(), c.y.data(), c.w.data(), scratch.data(), pieces,
                         accumulate, pool);
        expectClose(c.w, wanted, tolerance * 4, describe(shape));
      }
}

TEST(Conv2d, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const Conv2dShape &shape : shapes()) {
    Case first(shape);
    for (int threads : {1, 2, 3, 8}) {
      Case c(shape);
      ThreadPool pool(threads);
      std::vector<float> scratch(static_cast<size_t>(4 * shape.weightSize()));
      std::vector<float> y(c.y.size()), dx(c.x.size()), dw(c.w.size());
      conv2d(shape, c.x.data(), c.w.data(), y.data(), pool);
      conv2dInputGrad(shape, c.y.data(), c.w.data(), dx.data(), pool);
      conv2dWeightGrad(shape, c.x.data(), c.y.data(), dw.data(), scratch.data(), 4, false, pool);
      if (threads == 1) {
        first.y = y;
        first.x = dx;
        first.w = dw;
      }
      EXPECT_TRUE(sameBits(y, first.y)) << threads << " threads, " << describe(shape);
      EXPECT_TRUE(sameBits(dx, first.x)) << threads << " threads, " << describe(shape);
      EXPECT_TRUE(sameBits(dw, first.w)) << threads << " threads, " << describe(shape);
    }
  }
}

} // namespace
} // namespace dtc::cpu
