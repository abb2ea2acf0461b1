// Runs the CUDA kernels of pooling on the emulator beside those of the CPU.
#include "kernels/cpu/Pooling.h"
#include "kernels/cpu/ThreadPool.h"
#include "kernels/cuda/Pooling.h"
#include "test/unit/cuda/CudaTestSupport.h"

namespace dtc::cuda {
namespace {

using Shape = cpu::Pool2dShape;

// Windows side by side, overlapping with a border, and some that leave pixels out.
const Shape shapes[] = {
    {.planes = 3,
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
    {.planes = 4,
     .height = 7,
     .width = 5,
     .kernelHeight = 2,
     .kernelWidth = 2,
     .strideHeight = 3,
     .strideWidth = 3,
     .paddingHeight = 0,
     .paddingWidth = 1},
};

class PoolingKernel : public testing::TestWithParam<Shape> {
protected:
  // Returns the result of the launches; `dy` is empty for a result of windows.
  std::vector<float> run(bool isMax, const std::vector<float> &x, const std::vector<float> &dy,
                         size_t size) {
    EmulatedGpu gpu;
    PoolingParams params{};
    if (isMax || dy.empty())
      params.x = gpu.upload(x);
    params.dy = gpu.upload(dy);
    params.out = gpu.allocate<float>(size);
    params.planes = shape.planes;
    params.height = static_cast<int32_t>(shape.height);
    params.width = static_cast<int32_t>(shape.width);
    params.kernelHeight = static_cast<int32_t>(shape.kernelHeight);
    params.kernelWidth = static_cast<int32_t>(shape.kernelWidth);
    params.strideHeight = static_cast<int32_t>(shape.strideHeight);
    params.strideWidth = static_cast<int32_t>(shape.strideWidth);
    params.paddingHeight = static_cast<int32_t>(shape.paddingHeight);
    params.paddingWidth = static_cast<int32_t>(shape.paddingWidth);
    std::vector<Launch> launches;
    EXPECT_EQ(planPooling(isMax, !dy.empty(), params, launches), "");
    gpu.launch(launches, &params, /*seed=*/size);
    return {params.out, params.out + size};
  }

  Shape shape = GetParam();
  int64_t images = shape.planes * shape.height * shape.width;
  int64_t results = shape.planes * shape.outHeight() * shape.outWidth();
  Numbers numbers{3};
  cpu::ThreadPool pool{1};
};

TEST_P(PoolingKernel, TakesTheMaximumOfWindows) {
  std::vector<float> x = numbers.normal(images), dy = numbers.normal(results);
  x[4] = x[5] = x[x.size() / 2] = 9; // the first of equal ones counts
  std::vector<float> expected(static_cast<size_t>(results)), gradient(x.size());
  cpu::maxPool2d(shape, x.data(), expected.data(), pool);
  EXPECT_EQ(run(/*isMax=*/true, x, {}, expected.size()), expected);
  cpu::maxPool2dGrad(shape, x.data(), dy.data(), gradient.data(), pool);
  EXPECT_EQ(run(/*isMax=*/true, x, dy, gradient.size()), gradient);
}

TEST_P(PoolingKernel, TakesTheMeanOfWindows) {
  std::vector<float> x = numbers.normal(images), dy = numbers.normal(results);
  std::vector<float> expected(static_cast<size_t>(results)), gradient(x.size());
  cpu::avgPool2d(shape, x.data(), expected.data(), pool);
  EXPECT_LE(relativeError(run(/*isMax=*/false, x, {}, expected.size()), expected), 3e-7);
  cpu::avgPool2dGrad(shape, dy.data(), gradient.data(), pool);
  EXPECT_LE(relativeError(run(/*isMax=*/false, x, dy, gradient.size()), gradient), 3e-7);
}

// A NaN is greater than all numbers, wherever it is in a window, and its gradient goes there.
TEST_P(PoolingKernel, KeepsNan) {
  std::vector<float> x = numbers.normal(images), dy = numbers.normal(results);
  for (size_t i = 3; i < x.size(); i += 11)
    x[i] = NAN;
  std::vector<float> expected(static_cast<size_t>(results)), gradient(x.size());
  cpu::maxPool2d(shape, x.data(), expected.data(), pool);
  std::vector<float> found = run(/*isMax=*/true, x, {}, expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i]))) << i;
  cpu::maxPool2dGrad(shape, x.data(), dy.data(), gradient.data(), pool);
  EXPECT_EQ(run(/*isMax=*/true, x, dy, gradient.size()), gradient);
}

INSTANTIATE_TEST_SUITE_P(All, PoolingKernel, testing::ValuesIn(shapes));

} // namespace
} // namespace dtc::cuda
