// Tests the rules of CUDA that the fake driver enforces.
#include "runtime/fakecuda/FakeCuda.h"

#include <gtest/gtest.h>

#include <cstring>

namespace dtc::rt {
namespace {

// A GPU with two streams, an event, pinned memory and an allocation.
class FakeDriver : public testing::Test {
protected:
  void SetUp() override {
    fake = makeFakeCuda({.seed = 3});
    const cu::Driver *table = nullptr;
    ASSERT_TRUE(fake->driver(table).ok());
    driver = *table;
    cu::Context context = nullptr;
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), cu::success);
    ASSERT_EQ(driver.cuCtxSetCurrent(context), cu::success);
    for (cu::Stream *stream : {&a, &b})
      ASSERT_EQ(driver.cuStreamCreateWithPriority(stream, cu::streamNonBlocking, 0), cu::success);
    for (cu::Event *event : {&first, &second})
      ASSERT_EQ(driver.cuEventCreate(event, cu::eventDisableTiming), cu::success);
    void *host = nullptr;
    ASSERT_EQ(driver.cuMemAllocHost(&host, bytes), cu::success);
    pinned = static_cast<char *>(host);
    ASSERT_EQ(driver.cuMemAlloc(&memory, bytes), cu::success);
  }

  void TearDown() override {
    for (cu::Event event : {first, second})
      (void)driver.cuEventDestroy(event);
    for (cu::Stream stream : {a, b})
      (void)driver.cuStreamDestroy(stream);
    (void)driver.cuMemFreeHost(pinned);
    (void)driver.cuMemFree(memory);
    (void)driver.cuDevicePrimaryCtxRelease(0);
    EXPECT_EQ(fake->leaks(), "");
  }

  cu::Result endCapture() {
    cu::Graph graph = nullptr;
    cu::Result result = driver.cuStreamEndCapture(a, &graph);
    EXPECT_EQ(graph != nullptr, result == cu::success);
    if (graph)
      (void)driver.cuGraphDestroy(graph);
    return result;
  }
  cu::Result fill(cu::Stream stream) { return driver.cuMemsetD8Async(memory, 1, bytes, stream); }

  static constexpr size_t bytes = 64;
  std::unique_ptr<FakeCuda> fake;
  cu::Driver driver;
  cu::Stream a = nullptr, b = nullptr;
  cu::Event first = nullptr, second = nullptr;
  char *pinned = nullptr;
  cu::DevicePtr memory = 0;
};

TEST_F(FakeDriver, LetsCopiesLandLate) {
  ASSERT_EQ(driver.cuMemsetD8Async(memory, 7, bytes, a), cu::success);
  std::memset(pinned, 0, bytes);
  ASSERT_EQ(driver.cuMemcpyDtoHAsync(pinned, memory, bytes, a), cu::success);
  EXPECT_EQ(pinned[0], 0);
  ASSERT_EQ(driver.cuEventRecord(first, a), cu::success);
  while (driver.cuEventQuery(first) == cu::errorNotReady)
    continue;
  EXPECT_EQ(pinned[0], 7);
  EXPECT_EQ(pinned[bytes - 1], 7);
}

TEST_F(FakeDriver, WantsPinnedMemoryForLateCopies) {
  char host[bytes] = {};
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, host, bytes, a), cu::errorInvalidValue);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, pinned, bytes + 1, a), cu::errorInvalidValue);
}

TEST_F(FakeDriver, FindsCopiesBeyondAnAllocationAndOfFreedMemory) {
  ASSERT_EQ(driver.cuMemsetD8Async(memory, 7, bytes + 1, a), cu::success);
  EXPECT_EQ(driver.cuCtxSynchronize(), cu::errorIllegalAddress);
  const char *words = nullptr;
  ASSERT_EQ(driver.cuGetErrorString(cu::errorIllegalAddress, &words), cu::success);
  EXPECT_NE(std::string(words).find("fill"), std::string::npos) << words;
  EXPECT_EQ(driver.cuStreamWaitEvent(a, first, 0), cu::errorIllegalAddress) << "the error stays";
}

TEST_F(FakeDriver, FindsFreedMemory) {
  ASSERT_EQ(driver.cuMemFree(memory), cu::success);
  EXPECT_EQ(driver.cuMemFree(memory), cu::errorInvalidValue);
  ASSERT_EQ(fill(a), cu::success);
  EXPECT_EQ(driver.cuCtxSynchronize(), cu::errorIllegalAddress);
}

TEST_F(FakeDriver, ReplaysWhatWasCaptured) {
  ASSERT_EQ(driver.cuStreamBeginCapture(a, cu::captureRelaxed), cu::success);
  ASSERT_EQ(driver.cuEventRecord(first, a), cu::success);
  ASSERT_EQ(driver.cuStreamWaitEvent(b, first, 0), cu::success);
  ASSERT_EQ(fill(b), cu::success);
  ASSERT_EQ(driver.cuEventRecord(second, b), cu::success);
  ASSERT_EQ(driver.cuStreamWaitEvent(a, second, 0), cu::success);
  ASSERT_EQ(driver.cuMemcpyDtoHAsync(pinned, memory, bytes, a), cu::success);
  cu::Graph graph = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(a, &graph), cu::success);
  cu::GraphExec exec = nullptr;
  ASSERT_EQ(driver.cuGraphInstantiate(&exec, graph, cu::graphNodePriority), cu::success);
  ASSERT_EQ(driver.cuCtxSynchronize(), cu::success);
  EXPECT_NE(pinned[0], 1) << "captured, not run";
  for (int i = 0; i < 2; ++i) {
    pinned[0] = 0;
    ASSERT_EQ(driver.cuGraphLaunch(exec, a), cu::success);
    ASSERT_EQ(driver.cuCtxSynchronize(), cu::success);
    EXPECT_EQ(pinned[0], 1);
  }
  EXPECT_NE(fake->leaks().find("1 executable graph"), std::string::npos) << fake->leaks();
  EXPECT_EQ(driver.cuGraphExecDestroy(exec), cu::success);
  EXPECT_EQ(driver.cuGraphDestroy(graph), cu::success);
}

TEST_F(FakeDriver, RejectsWhatIsNotJoined) {
  ASSERT_EQ(driver.cuStreamBeginCapture(a, cu::captureRelaxed), cu::success);
  ASSERT_EQ(driver.cuEventRecord(first, a), cu::success);
  ASSERT_EQ(driver.cuStreamWaitEvent(b, first, 0), cu::success);
  ASSERT_EQ(fill(b), cu::success);
  EXPECT_EQ(endCapture(), cu::errorCaptureUnjoined);
}

TEST_F(FakeDriver, RejectsWaitsForWhatIsOutside) {
  ASSERT_EQ(driver.cuEventRecord(first, b), cu::success);
  ASSERT_EQ(driver.cuStreamBeginCapture(a, cu::captureRelaxed), cu::success);
  EXPECT_EQ(driver.cuStreamWaitEvent(a, first, 0), cu::errorCaptureIsolation);
  EXPECT_EQ(fill(a), cu::errorCaptureInvalidated);
  EXPECT_EQ(endCapture(), cu::errorCaptureInvalidated);
}

TEST_F(FakeDriver, RejectsMergesOfCaptures) {
  ASSERT_EQ(driver.cuStreamBeginCapture(a, cu::captureRelaxed), cu::success);
  ASSERT_EQ(driver.cuStreamBeginCapture(b, cu::captureRelaxed), cu::success);
  ASSERT_EQ(driver.cuEventRecord(first, b), cu::success);
  EXPECT_EQ(driver.cuStreamWaitEvent(a, first, 0), cu::errorCaptureMerge);
  EXPECT_EQ(endCapture(), cu::errorCaptureInvalidated);
}

TEST_F(FakeDriver, RejectsTheWrongEnd) {
  ASSERT_EQ(driver.cuStreamBeginCapture(b, cu::captureRelaxed), cu::success);
  ASSERT_EQ(driver.cuEventRecord(first, b), cu::success);
  ASSERT_EQ(driver.cuStreamWaitEvent(a, first, 0), cu::success);
  EXPECT_EQ(endCapture(), cu::errorCaptureUnmatched);
}

TEST_F(FakeDriver, RejectsCallsThatWouldWaitOrAllocate) {
  for (int call = 0; call < 4; ++call) {
    ASSERT_EQ(driver.cuStreamBeginCapture(a, cu::captureRelaxed), cu::success);
    cu::DevicePtr more = 0;
    cu::Result result = call == 0   ? driver.cuCtxSynchronize()
                        : call == 1 ? driver.cuMemAlloc(&more, bytes)
                        : call == 2 ? driver.cuMemcpyDtoH(pinned, memory, bytes)
                                    : driver.cuEventQuery(first);
    EXPECT_EQ(result, cu::errorCaptureUnsupported) << call;
    EXPECT_EQ(endCapture(), cu::errorCaptureInvalidated) << call;
  }
}

TEST_F(FakeDriver, RejectsCapturedEventsElsewhere) {
  ASSERT_EQ(driver.cuStreamBeginCapture(a, cu::captureRelaxed), cu::success);
  ASSERT_EQ(driver.cuEventRecord(first, a), cu::success);
  ASSERT_EQ(endCapture(), cu::success);
  EXPECT_EQ(driver.cuEventQuery(first), cu::errorCapturedEvent);
  EXPECT_EQ(driver.cuStreamWaitEvent(b, first, 0), cu::errorCapturedEvent);
}

// One stream waits for another's work that no event orders. Streams run side by side, but branches
// of a graph may share one queue, so that CUDA does not guarantee progress.
TEST(FakeCuda, LetsBranchesStandOneBehindAnother) {
  int hangs[2] = {}; // number of hangs of streams, of graphs
  for (uint64_t seed = 1; seed <= 20; ++seed)
    for (bool isGraph : {false, true}) {
      auto fake = makeFakeCuda({.seed = seed, .graphQueues = 1});
      const cu::Driver *table = nullptr;
      ASSERT_TRUE(fake->driver(table).ok());
      const cu::Driver &driver = *table;
      cu::Context context = nullptr;
      ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), cu::success);
      ASSERT_EQ(driver.cuCtxSetCurrent(context), cu::success);
      void *host = nullptr;
      ASSERT_EQ(driver.cuMemAllocHost(&host, 4), cu::success);
      std::memset(host, 0, 4);
      auto word = static_cast<cu::DevicePtr>(reinterpret_cast<uintptr_t>(host));
      cu::Stream a = nullptr, b = nullptr;
      cu::Event event = nullptr;
      for (cu::Stream *stream : {&a, &b})
        ASSERT_EQ(driver.cuStreamCreateWithPriority(stream, 1, 0), cu::success);
      ASSERT_EQ(driver.cuEventCreate(&event, cu::eventDisableTiming), cu::success);
      if (isGraph)
        ASSERT_EQ(driver.cuStreamBeginCapture(a, cu::captureRelaxed), cu::success);
      ASSERT_EQ(driver.cuEventRecord(event, a), cu::success);
      ASSERT_EQ(driver.cuStreamWaitEvent(b, event, 0), cu::success);
      ASSERT_EQ(driver.cuStreamWaitValue32(a, word, 1, cu::waitValueEqual), cu::success);
      ASSERT_EQ(driver.cuStreamWriteValue32(b, word, 1, 0), cu::success);
      ASSERT_EQ(driver.cuEventRecord(event, b), cu::success);
      ASSERT_EQ(driver.cuStreamWaitEvent(a, event, 0), cu::success);
      cu::Graph graph = nullptr;
      cu::GraphExec exec = nullptr;
      if (isGraph) {
        ASSERT_EQ(driver.cuStreamEndCapture(a, &graph), cu::success);
        ASSERT_EQ(driver.cuGraphInstantiate(&exec, graph, cu::graphNodePriority), cu::success);
        ASSERT_EQ(driver.cuGraphLaunch(exec, a), cu::success);
      }
      ASSERT_EQ(driver.cuEventRecord(event, a), cu::success);
      cu::Result result = cu::errorNotReady;
      for (int looks = 0; looks < 40 && result == cu::errorNotReady; ++looks)
        result = driver.cuEventQuery(event);
      hangs[isGraph ? 1 : 0] += result == cu::errorNotReady ? 1 : 0;
      std::memset(host, 1, 1); // ends the wait
      ASSERT_EQ(driver.cuCtxSynchronize(), cu::success);
      if (isGraph) {
        EXPECT_EQ(driver.cuGraphExecDestroy(exec), cu::success);
        EXPECT_EQ(driver.cuGraphDestroy(graph), cu::success);
      }
      EXPECT_EQ(driver.cuEventDestroy(event), cu::success);
      for (cu::Stream stream : {a, b})
        EXPECT_EQ(driver.cuStreamDestroy(stream), cu::success);
      EXPECT_EQ(driver.cuMemFreeHost(host), cu::success);
      EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), cu::success);
      EXPECT_EQ(fake->leaks(), "");
    }
  EXPECT_EQ(hangs[0], 0);
  EXPECT_GT(hangs[1], 0);
  EXPECT_LT(hangs[1], 20);
}

// Work without an order runs in both orders, chosen by the seed.
TEST(FakeCuda, RunsStreamsInAnyOrder) {
  bool seen[2] = {};
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto fake = makeFakeCuda({.seed = seed});
    const cu::Driver *driver = nullptr;
    ASSERT_TRUE(fake->driver(driver).ok());
    cu::Context context = nullptr;
    ASSERT_EQ(driver->cuDevicePrimaryCtxRetain(&context, 0), cu::success);
    ASSERT_EQ(driver->cuCtxSetCurrent(context), cu::success);
    cu::DevicePtr memory = 0;
    ASSERT_EQ(driver->cuMemAlloc(&memory, 1), cu::success);
    cu::Stream streams[2] = {};
    for (unsigned char i = 0; i < 2; ++i) {
      ASSERT_EQ(driver->cuStreamCreateWithPriority(&streams[i], cu::streamNonBlocking, 0),
                cu::success);
      ASSERT_EQ(driver->cuMemsetD8Async(memory, i, 1, streams[i]), cu::success);
    }
    ASSERT_EQ(driver->cuCtxSynchronize(), cu::success);
    unsigned char value = 9;
    ASSERT_EQ(driver->cuMemcpyDtoH(&value, memory, 1), cu::success);
    ASSERT_LT(value, 2);
    seen[value] = true;
    for (cu::Stream stream : streams)
      EXPECT_EQ(driver->cuStreamDestroy(stream), cu::success);
    EXPECT_EQ(driver->cuMemFree(memory), cu::success);
    EXPECT_EQ(driver->cuDevicePrimaryCtxRelease(0), cu::success);
  }
  EXPECT_TRUE(seen[0] && seen[1]);
}

} // namespace
} // namespace dtc::rt
