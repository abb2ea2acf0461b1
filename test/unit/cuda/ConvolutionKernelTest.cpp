// Runs the CUDA kernels of convolutions on the emulator beside those of the CPU.
#include "kernels/cpu/Convolution.h"
#include "kernels/cpu/ThreadPool.h"
#include "kernels/cuda/Convolution.h"
#include "test/unit/cuda/CudaTestSupport.h"

namespace dtc::cuda {
namespace {

using Shape = cpu::Conv2dShape;

// Sums of a few hundred products in f32, in another order.
constexpr double kTolerance = 3e-6;

// One tile and several, along rows, columns and terms; groups; unequal sides; windows that leave
// pixels out; the kernel as large as the image.
const Shape shapes[] = {
    {.batch = 2,
     .channels = 3,
     .filters = 70,
     .groups = 1,
     .height = 7,
     .width = 6,
     .kernelHeight = 3,
     .kernelWidth = 3,
     .paddingHeight = 1,
     .paddingWidth = 1},
    {.batch = 3,
     .channels = 6,
     .filters = 4,
     .groups = 2,
     .height = 9,
     .width = 5,
     .kernelHeight = 2,
     .kernelWidth = 3,
     .strideHeight = 2,
     .strideWidth = 3,
     .paddingHeight = 2,
     .paddingWidth = 1},
    {.batch = 2,
     .channels = 70,
     .filters = 5,
     .groups = 1,
     .height = 4,
     .width = 4,
     .kernelHeight = 1,
     .kernelWidth = 1,
     .strideHeight = 2,
     .strideWidth = 2},
    {.batch = 3,
     .channels = 6,
     .filters = 6,
     .groups = 6,
     .height = 8,
     .width = 10,
     .kernelHeight = 3,
     .kernelWidth = 2,
     .paddingHeight = 2,
     .paddingWidth = 3,
     .dilationHeight = 2,
     .dilationWidth = 3},
    {.batch = 1,
     .channels = 1,
     .filters = 1,
     .groups = 1,
     .height = 5,
     .width = 3,
     .kernelHeight = 5,
     .kernelWidth = 3},
};

class ConvolutionKernel : public testing::TestWithParam<Shape> {
protected:
  ConvolutionKernel() {
    const Shape &s = GetParam();
    params.batch = static_cast<int32_t>(s.batch);
    params.channels = static_cast<int32_t>(s.channels);
    params.filters = static_cast<int32_t>(s.filters);
    params.groups = static_cast<int32_t>(s.groups);
    params.height = static_cast<int32_t>(s.height);
    params.width = static_cast<int32_t>(s.width);
    params.kernelHeight = static_cast<int32_t>(s.kernelHeight);
    params.kernelWidth = static_cast<int32_t>(s.kernelWidth);
    params.strideHeight = static_cast<int32_t>(s.strideHeight);
    params.strideWidth = static_cast<int32_t>(s.strideWidth);
    params.paddingHeight = static_cast<int32_t>(s.paddingHeight);
    params.paddingWidth = static_cast<int32_t>(s.paddingWidth);
    params.dilationHeight = static_cast<int32_t>(s.dilationHeight);
    params.dilationWidth = static_cast<int32_t>(s.dilationWidth);
  }

  // Returns what the launches write to memory for results, which `before` fills unless it is empty.
  std::vector<float> run(const std::vector<Launch> &launches, const std::vector<float> &pixels,
                         const std::vector<float> &factors, size_t size,
                         const std::vector<float> &before = {}) {
    EmulatedGpu gpu;
    params.pixels = gpu.upload(pixels);
    params.factors = gpu.upload(factors);
    params.out = before.empty() ? gpu.allocate<float>(size) : gpu.upload(before);
    params.scratch = gpu.allocate<float>(static_cast<size_t>(params.pieces) * size + 1);
    gpu.launch(launches, &params, /*seed=*/size);
    return {params.out, params.out + size};
  }

  std::vector<float> ofSize(int64_t size) {
    std::vector<float> values(static_cast<size_t>(size));
    return values;
  }

  Shape shape = GetParam();
  int64_t images = shape.batch * shape.imageSize(), results = shape.batch * shape.resultSize();
  ConvolutionParams params{};
  std::vector<Launch> launches;
  Numbers numbers{7};
  cpu::ThreadPool pool{1};
};

TEST_P(ConvolutionKernel, ConvolvesAsTheCpuDoes) {
  std::vector<float> x = numbers.normal(images), weight = numbers.normal(shape.weightSize());
  std::vector<float> expected = ofSize(results);
  cpu::conv2d(shape, x.data(), weight.data(), expected.data(), pool);
  ASSERT_EQ(planConvolution(params, launches), "");
  EXPECT_LE(relativeError(run(launches, x, weight, expected.size()), expected), kTolerance);
}

TEST_P(ConvolutionKernel, HasTheGradientOfTheImage) {
  std::vector<float> dy = numbers.normal(results), weight = numbers.normal(shape.weightSize());
  std::vector<float> expected = ofSize(images);
  cpu::conv2dInputGrad(shape, dy.data(), weight.data(), expected.data(), pool);
  ASSERT_EQ(planConvolutionInputGrad(params, launches), "");
  EXPECT_LE(relativeError(run(launches, dy, weight, expected.size()), expected), kTolerance);
}

TEST_P(ConvolutionKernel, HasTheGradientOfTheWeight) {
  std::vector<float> x = numbers.normal(images), dy = numbers.normal(results);
  std::vector<float> before = numbers.normal(shape.weightSize());
  for (int32_t pieces = 1; pieces <= params.batch; ++pieces)
    for (bool accumulate : {false, true}) {
      std::vector<float> expected = before;
      std::vector<float> scratch = ofSize(pieces * shape.weightSize());
      cpu::conv2dWeightGrad(shape, x.data(), dy.data(), expected.data(), scratch.data(), pieces,
                            accumulate, pool);
      params.pieces = pieces, params.accumulate = accumulate;
      ASSERT_EQ(planConvolutionWeightGrad(params, launches), "");
      std::vector<float> found =
          run(launches, x, dy, expected.size(), accumulate ? before : std::vector<float>());
      EXPECT_LE(relativeError(found, expected), kTolerance) << pieces << " pieces";
    }
}

INSTANTIATE_TEST_SUITE_P(All, ConvolutionKernel, testing::ValuesIn(shapes));

} // namespace
} // namespace dtc::cuda
