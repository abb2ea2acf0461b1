#include "runtime/device/CpuDevice.h"

#include "runtime/device/CpuFeatures.h"
#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

#include <thread>

namespace dtc::rt {
namespace {

TEST(CpuFeatures, NamesWhatIsMissing) {
  EXPECT_EQ(missingCpuFeatures({"sse2"}), std::vector<std::string>{});
  EXPECT_EQ(missingCpuFeatures({"sse2", "avx9000"}), std::vector<std::string>{"avx9000"});
  Status status = makeCpuDevice(1)->checkFeatures({"avx9000", "avx9001"});
  EXPECT_EQ(status.statusCode(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("avx9000, avx9001"), std::string::npos) << status.message();
}

TEST(CpuDevice, LoadsCodeAndFindsItsFunctions) {
  std::vector<uint8_t> object = test::readBytes(DTC_SAMPLE_KERNELS);
  ASSERT_FALSE(object.empty());
  auto device = makeCpuDevice(1);
  ASSERT_TRUE(device->loadCode(object).ok());
  int first = -1, second = -1;
  EXPECT_TRUE(device->findSymbol(0, "mean_square", first).ok());
  EXPECT_TRUE(device->findSymbol(0, "decay", second).ok());
  EXPECT_NE(first, second);
  Status status = device->findSymbol(0, "no_such", first);
  EXPECT_EQ(status.statusCode(), StatusCode::NotFound);
  EXPECT_NE(status.message().find("'no_such'"), std::string::npos);
}

TEST(CpuDevice, SaysWhyCodeDoesNotLoad) {
  auto device = makeCpuDevice(1);
  Status status = device->loadCode(std::vector<uint8_t>(100, 1));
  EXPECT_EQ(status.statusCode(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("loading code of 100 bytes"), std::string::npos);
}

TEST(CpuDevice, ArenaIsZeroAndAligned) {
  auto device = makeCpuDevice(1);
  ASSERT_TRUE(device->allocateArena(10000).ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(device->arena()) % 64, 0u);
  for (int i = 0; i < 10000; ++i)
    ASSERT_EQ(device->arena()[i], 0);
}

TEST(CpuDevice, SaysThatAnArenaDoesNotFit) {
  Status status = makeCpuDevice(1)->allocateArena(uint64_t(1) << 60);
  EXPECT_EQ(status.statusCode(), StatusCode::ResourceExhausted);
  EXPECT_NE(status.message().find("1152921504606846976 bytes"), std::string::npos);
}

TEST(CpuDevice, WaitEndsAtTheRecordThatItIsFor) {
  auto device = makeCpuDevice(1);
  ASSERT_TRUE(device->createStreams(2, 1).ok());
  device->beginStep();
  ASSERT_TRUE(device->record(0, 0).ok());
  EXPECT_TRUE(device->wait(1, 0, 1).ok());
  std::atomic<bool> passed{false};
  std::thread waiter([&] {
    EXPECT_TRUE(device->wait(1, 0, 2).ok());
    passed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(passed);
  ASSERT_TRUE(device->record(0, 0).ok());
  waiter.join();
  EXPECT_TRUE(passed);
}

TEST(CpuDevice, AbortWakesAWait) {
  auto device = makeCpuDevice(1);
  ASSERT_TRUE(device->createStreams(2, 1).ok());
  device->beginStep();
  std::thread waiter([&] { EXPECT_EQ(device->wait(1, 0, 1).statusCode(), StatusCode::Aborted); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  device->abort();
  waiter.join();
  device->beginStep();
  ASSERT_TRUE(device->record(0, 0).ok());
  EXPECT_TRUE(device->wait(1, 0, 1).ok()) << "a new step starts afresh";
}

} // namespace
} // namespace dtc::rt
