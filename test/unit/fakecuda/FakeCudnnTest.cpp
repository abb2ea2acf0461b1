// Tests that the stand-in for cuDNN refuses what cuDNN's documentation says is refused.
#include "runtime/cuda/CudnnGraph.h"
#include "runtime/fakecuda/FakeCuda.h"

#include <gtest/gtest.h>

namespace dtc::rt {
namespace {

constexpr CudnnSizes kSizes = {1, 1, 2, 4}, kStrides = {8, 8, 4, 1};
constexpr size_t kBytes = 32768; // The workspace is behind the first 4096 bytes.
constexpr int64_t kX = 1, kY = 2;

class FakeCudnn : public testing::Test {
protected:
  void SetUp() override {
    fake = makeFakeCuda({.cudnnVersion = 91900});
    const cu::Driver *found = nullptr;
    ASSERT_TRUE(fake->driver(found).ok());
    driver = *found;
    ASSERT_TRUE(fake->cudnn(cudnn).ok());
    cu::Context context = nullptr;
    ASSERT_EQ(driver.cuInit(0), cu::success);
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), cu::success);
    ASSERT_EQ(driver.cuCtxSetCurrent(context), cu::success);
    ASSERT_EQ(driver.cuStreamCreateWithPriority(&stream, cu::streamNonBlocking, 0), cu::success);
    ASSERT_EQ(driver.cuMemAlloc(&memory, kBytes), cu::success);
    ASSERT_EQ(driver.cuMemsetD8(memory, 0, kBytes), cu::success);
    ASSERT_EQ(cudnn->cudnnCreate(&handle), cu::cudnnSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudnn->cudnnDestroy(handle), cu::cudnnSuccess);
    EXPECT_EQ(driver.cuMemFree(memory), cu::success);
    EXPECT_EQ(driver.cuStreamDestroy(stream), cu::success);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), cu::success);
    EXPECT_EQ(fake->leaks(), "");
  }
  void *at(uint64_t byte) const { return reinterpret_cast<void *>(memory + byte); }

  // y = exp(x) + 1
  void build(CudnnGraph &graph) {
    CudnnTensor x = graph.memory(kX, cu::cudnnF32, kSizes, kStrides),
                y = graph.memory(kY, cu::cudnnF32, kSizes, kStrides),
                power = graph.between(cu::cudnnF32, kSizes), one = graph.value(1.0F);
    graph.pointwise(cu::cudnnExp, x, nullptr, power);
    graph.pointwise(cu::cudnnAdd, power, &one, y);
    between = power.id;
  }

  std::unique_ptr<FakeCuda> fake;
  cu::Driver driver;
  const cu::Cudnn *cudnn = nullptr;
  cu::CudnnHandle handle = nullptr;
  cu::Stream stream = nullptr;
  cu::DevicePtr memory = 0;
  int64_t between = 0;
};

TEST_F(FakeCudnn, ComputesAGraph) {
  CudnnGraph graph(*cudnn, {.handle = handle});
  build(graph);
  ASSERT_TRUE(graph.finish().ok());
  std::vector<CudnnEngine> engines;
  ASSERT_TRUE(graph.engines(9, engines).ok());
  ASSERT_EQ(engines.size(), 6u); // None adds up in an arbitrary order.
  std::unique_ptr<CudnnPlan> plan;
  EXPECT_FALSE(graph.plan(engines[0], plan).ok()); // This engine has no plan.
  ASSERT_TRUE(graph.plan({.index = 0, .knobs = {{24, 5}}}, plan).ok());
  CudnnObject pack;
  ASSERT_TRUE(plan->pack({{kX, at(0)}, {kY, at(64)}}, at(4096), pack).ok());
  ASSERT_TRUE(plan->run(handle, pack, stream).ok());
  ASSERT_EQ(driver.cuCtxSynchronize(), cu::success);
  std::vector<float> found(8);
  ASSERT_EQ(driver.cuMemcpyDtoH(found.data(), memory + 64, 32), cu::success);
  EXPECT_EQ(found, std::vector<float>(8, 2));
}

// Windows of 2 x 2 of an image of 2 x 4 with padding by 1 and strides of 2 x 1; the image is all 4.
TEST_F(FakeCudnn, ComputesMeansAndTheirGradient) {
  constexpr CudnnSizes results = {1, 1, 2, 5};
  std::vector<float> fours(16, 4);
  ASSERT_EQ(driver.cuMemcpyHtoD(memory, fours.data(), 64), cu::success);
  auto compute = [&](bool isGradient, size_t count) {
    CudnnGraph graph(*cudnn, {.handle = handle});
    graph.means(isGradient, {.strides = {2, 1}, .padding = {1, 1}, .dilations = {1, 1}}, {2, 2},
                graph.memory(kX, cu::cudnnF32, kSizes), graph.memory(kY, cu::cudnnF32, results));
    Status built = graph.finish();
    EXPECT_TRUE(built.ok()) << built.message();
    std::unique_ptr<CudnnPlan> plan;
    CudnnObject pack;
    EXPECT_TRUE(graph.plan({}, plan).ok());
    EXPECT_TRUE(
        plan->pack({{kX, at(isGradient ? 64 : 0)}, {kY, at(isGradient ? 0 : 64)}}, at(4096), pack)
            .ok());
    EXPECT_TRUE(plan->run(handle, pack, stream).ok());
    EXPECT_EQ(driver.cuCtxSynchronize(), cu::success);
    std::vector<float> found(count);
    EXPECT_EQ(driver.cuMemcpyDtoH(found.data(), memory + 64, count * 4), cu::success);
    return found;
  };
  EXPECT_EQ(compute(false, 10), (std::vector<float>{1, 2, 2, 2, 1, 1, 2, 2, 2, 1}));
  EXPECT_EQ(compute(true, 8), (std::vector<float>(8, 2)));
}

TEST_F(FakeCudnn, RefusesWrongPacks) {
  CudnnGraph graph(*cudnn, {.handle = handle});
  build(graph);
  ASSERT_TRUE(graph.finish().ok());
  std::unique_ptr<CudnnPlan> plan;
  ASSERT_TRUE(graph.plan({}, plan).ok());
  auto isRun = [&](const CudnnPointers &pointers, void *workspace) {
    CudnnObject pack;
    return plan->pack(pointers, workspace, pack).ok() && plan->run(handle, pack, stream).ok();
  };
  EXPECT_TRUE(isRun({{kX, at(0)}, {kY, at(64)}}, at(4096)));
  EXPECT_FALSE(isRun({{kX, at(0)}}, at(4096)));
  EXPECT_FALSE(isRun({{kX, at(0)}, {kY, at(64)}}, nullptr));
  EXPECT_FALSE(isRun({{kX, at(8)}, {kY, at(64)}}, at(4096)));
  EXPECT_FALSE(isRun({{kX, nullptr}, {kY, at(64)}}, at(4096)));
  EXPECT_FALSE(isRun({{kX, at(0)}, {kY, at(64)}, {between, at(128)}}, at(4096)));
  EXPECT_FALSE(isRun({{kX, at(0)}, {kY, at(64)}, {77, at(128)}}, at(4096)));
  CudnnObject open;
  ASSERT_TRUE(open.create(*cudnn, cu::cudnnVariantPack).ok());
  EXPECT_FALSE(plan->run(handle, open, stream).ok());
}

TEST_F(FakeCudnn, RefusesWrongDescriptors) {
  CudnnObject tensor;
  ASSERT_TRUE(tensor.create(*cudnn, cu::cudnnTensor).ok());
  EXPECT_FALSE(tensor.finalize().ok()); // nothing is set
  EXPECT_FALSE(tensor.setInt(cu::cudnnPackIds, 1).ok());
  EXPECT_FALSE(tensor.setEnum(cu::cudnnTensorType, cu::cudnnTypePointwise, 0).ok());
  EXPECT_FALSE(tensor.setInts(cu::cudnnTensorSizes, std::vector<int64_t>(3, 1)).ok());
  CudnnObject op;
  ASSERT_TRUE(op.create(*cudnn, cu::cudnnReshapeOp).ok());
  EXPECT_FALSE(op.setObject(cu::cudnnReshapeOpX, tensor.get()).ok()); // not finalized
  EXPECT_FALSE(op.setObject(cu::cudnnReshapeOpX, nullptr).ok());
}

TEST_F(FakeCudnn, RefusesWrongGraphs) {
  auto isGraph = [&](auto add) {
    CudnnGraph graph(*cudnn, {.handle = handle});
    add(graph);
    return graph.finish().ok();
  };
  auto memory4 = [](CudnnGraph &graph, int64_t id) {
    return graph.memory(id, cu::cudnnF32, kSizes, kStrides);
  };
  EXPECT_TRUE(isGraph([&](CudnnGraph &graph) { build(graph); }));
  EXPECT_FALSE(isGraph([](CudnnGraph &) {}));
  // A tensor is read before it is written.
  EXPECT_FALSE(isGraph([&](CudnnGraph &graph) {
    graph.pointwise(cu::cudnnExp, graph.between(cu::cudnnF32, kSizes), nullptr, memory4(graph, kY));
  }));
  // Two tensors have the same number.
  EXPECT_FALSE(isGraph([&](CudnnGraph &graph) {
    graph.pointwise(cu::cudnnExp, memory4(graph, kX), nullptr,
                    graph.memory(kX, cu::cudnnF16, kSizes, kStrides));
  }));
  EXPECT_FALSE(isGraph([&](CudnnGraph &graph) { // no second operand
    graph.pointwise(cu::cudnnAdd, memory4(graph, kX), nullptr, memory4(graph, kY));
  }));
  EXPECT_FALSE(isGraph([&](CudnnGraph &graph) { // 4 columns by 2 rows
    graph.matmul(memory4(graph, kX), memory4(graph, kY), graph.between(cu::cudnnF32, kSizes));
  }));
  EXPECT_FALSE(isGraph([&](CudnnGraph &graph) { // There are no elements.
    graph.memory(kX, cu::cudnnF32, {1, 1, 0, 4}, kStrides);
    build(graph);
  }));
}

} // namespace
} // namespace dtc::rt
