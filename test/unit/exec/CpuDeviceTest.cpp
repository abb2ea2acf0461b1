#include "runtime/device/CpuDevice.h"

#include "kernels/cpu/ThreadPool.h"
#include "runtime/comm/Loopback.h"
#include "runtime/device/CpuFeatures.h"
#include "runtime/device/CpuInstructions.h"
#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace dtc::rt {
namespace {

constexpr format::MemorySpace kDevice = format::MemorySpace::device,
                              kHost = format::MemorySpace::host;

TEST(CpuFeatures, NamesWhatIsMissing) {
  EXPECT_EQ(missingCpuFeatures({"sse2"}), std::vector<std::string>{});
  EXPECT_EQ(missingCpuFeatures({"sse2", "avx9000"}), std::vector<std::string>{"avx9000"});
  Status status = makeCpuDevice(1)->checkTarget({.cpuFeatures = {"avx9000", "avx9001"}});
  EXPECT_EQ(status.statusCode(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("avx9000, avx9001"), std::string::npos) << status.message();
}

TEST(CpuDevice, RefusesAProgramForAnother) {
  Status status = makeCpuDevice(1)->checkTarget({.device = "cuda", .gpuArch = "sm_90"});
  EXPECT_EQ(status.statusCode(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("compiled for device 'cuda'"), std::string::npos)
      << status.message();
}

TEST(CpuDevice, LoadsCodeAndFindsItsFunctions) {
  std::vector<uint8_t> object = test::readBytes(DTC_SAMPLE_KERNELS);
  ASSERT_FALSE(object.empty());
  auto device = makeCpuDevice(1);
  ASSERT_TRUE(device->loadCode({.bytes = object}).ok());
  int first = -1, second = -1;
  EXPECT_TRUE(device->findSymbol(0, {.name = "mean_square"}, first).ok());
  EXPECT_TRUE(device->findSymbol(0, {.name = "decay"}, second).ok());
  EXPECT_NE(first, second);
  Status status = device->findSymbol(0, {.name = "no_such"}, first);
  EXPECT_EQ(status.statusCode(), StatusCode::NotFound);
  EXPECT_NE(status.message().find("'no_such'"), std::string::npos);
}

TEST(CpuDevice, SaysWhyCodeDoesNotLoad) {
  auto device = makeCpuDevice(1);
  std::vector<uint8_t> bytes(100, 1);
  Status status = device->loadCode({.bytes = bytes});
  EXPECT_EQ(status.statusCode(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("code of 100 bytes: it is no ELF file"), std::string::npos);
}

// The loader refuses such a program. If it ever let one through, its bytes must not be read as f32.
TEST(CpuInstructions, RefuseTypesThatKernelsDoNotHave) {
  format::InstructionT made;
  made.op.Set(format::GemmT());
  format::GemmT &gemm = *made.op.AsGemm();
  gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = gemm.batch = 1;
  gemm.alpha = 1;
  cpu::ThreadPool pool(1);
  float a = 2, b = 3, c = 0;
  auto runAs = [&](int type, int resultType) {
    gemm.dtype = static_cast<format::DType>(type);
    gemm.result_dtype = static_cast<format::DType>(resultType);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(format::CreateInstruction(builder, &made));
    Command command;
    command.source = flatbuffers::GetRoot<format::Instruction>(builder.GetBufferPointer());
    command.buffers = {reinterpret_cast<char *>(&a), reinterpret_cast<char *>(&b),
                       reinterpret_cast<char *>(&c)};
    c = 0;
    return runOnCpu(command, pool);
  };
  EXPECT_TRUE(runAs(0, 0).ok());
  EXPECT_EQ(c, 6);
  for (int type : {3, 4, 5, 6, 255}) {
    EXPECT_EQ(runAs(type, 0).statusCode(), StatusCode::Internal) << type;
    EXPECT_EQ(runAs(0, type).statusCode(), StatusCode::Internal) << type;
    EXPECT_EQ(c, 0) << type;
  }
}

TEST(CpuDevice, ArenaIsZeroAndAligned) {
  auto device = makeCpuDevice(1);
  ASSERT_TRUE(device->allocateArena(kDevice, 10000).ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(device->arena(kDevice)) % 64, 0u);
  for (int i = 0; i < 10000; ++i)
    ASSERT_EQ(device->arena(kDevice)[i], 0);
}

TEST(CpuDevice, HasAnArenaForEachMemory) {
  auto device = makeCpuDevice(1);
  ASSERT_TRUE(device->allocateArena(kDevice, 100).ok());
  EXPECT_EQ(device->arena(kHost), nullptr);
  ASSERT_TRUE(device->allocateArena(kHost, 100).ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(device->arena(kHost)) % 64, 0u);
  std::memset(device->arena(kHost), 1, 100);
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(device->arena(kDevice)[i], 0);
}

TEST(CpuDevice, SaysThatAnArenaDoesNotFit) {
  Status status = makeCpuDevice(1)->allocateArena(kDevice, uint64_t(1) << 60);
  EXPECT_EQ(status.statusCode(), StatusCode::ResourceExhausted);
  EXPECT_NE(status.message().find("1152921504606846976 bytes"), std::string::npos);
}

// A wait is for the last record that was enqueued before it, not for a later one.
TEST(CpuDevice, WaitEndsAtTheRecordThatItIsFor) {
  auto device = makeCpuDevice(1);
  ASSERT_TRUE(device->createStreams({.used = {true, true}, .events = 1}).ok());
  char *host = nullptr;
  ASSERT_TRUE(device->allocateHost(4, host).ok());
  ASSERT_TRUE(device->allocateArena(kDevice, 4).ok());
  for (char value : {1, 2, 3}) {
    host[0] = value;
    uint64_t step = 0, tag = 0;
    ASSERT_TRUE(device->beginStep(0).ok());
    EXPECT_TRUE(device->enqueueWait(0, 0, {}).ok()) << "for the record of the step before, or none";
    EXPECT_TRUE(device->enqueueCopyIn(1, device->arena(kDevice), host, 1, {}).ok());
    EXPECT_TRUE(device->enqueueRecord(1, 0, {}).ok());
    EXPECT_TRUE(device->enqueueWait(0, 0, {}).ok());
    EXPECT_TRUE(device->enqueueCopyOut(0, host + 1, device->arena(kDevice), 1, {}).ok());
    ASSERT_TRUE(device->endStep({}, step).ok());
    ASSERT_TRUE(device->synchronize(step, tag).ok());
    EXPECT_TRUE(device->isDone(step));
    EXPECT_FALSE(device->isDone(step + 1));
    EXPECT_EQ(host[1], value);
  }
}

// There are many more commands than the ring has slots. The host changes each one directly after
// enqueuing it.
TEST(CpuDevice, KeepsCommandsAndTheirOrder) {
  auto device = makeCpuDevice(1);
  ASSERT_TRUE(device->createStreams({.used = {true}, .events = 0, .maxBuffers = 2}).ok());
  constexpr uint64_t count = 5000;
  char *host = nullptr;
  ASSERT_TRUE(device->allocateHost(count + 1, host).ok());
  ASSERT_TRUE(device->allocateArena(kDevice, 2).ok());
  for (uint64_t i = 0; i <= count; ++i)
    host[i] = static_cast<char>(i % 101);
  flatbuffers::FlatBufferBuilder flat;
  format::InstructionT made;
  made.op.Set(test::zero(0));
  flat.Finish(format::CreateInstruction(flat, &made));
  Command command;
  command.source = flatbuffers::GetRoot<format::Instruction>(flat.GetBufferPointer());
  command.bytes = 1;
  uint64_t step = 0, tag = 0;
  for (uint64_t i = 0; i < count; ++i) {
    // Byte 0 is shifted into the host's memory and zeroed, and byte 1 never is.
    command.buffers = {device->arena(kDevice)};
    ASSERT_TRUE(device->enqueueCopyIn(0, device->arena(kDevice), host + i, 1, {}).ok());
    ASSERT_TRUE(device->enqueueCopyOut(0, host + i + 1, device->arena(kDevice), 1, {}).ok());
    ASSERT_TRUE(device->enqueue(0, command, {}).ok());
    command.buffers = {device->arena(kDevice) + 1};
  }
  ASSERT_TRUE(device->enqueueCopyIn(0, device->arena(kDevice) + 1, host, 1, {}).ok());
  ASSERT_TRUE(device->endStep({}, step).ok());
  ASSERT_TRUE(device->synchronize(step, tag).ok());
  for (uint64_t i = 0; i <= count; ++i)
    ASSERT_EQ(host[i], host[0]) << i;
  EXPECT_EQ(device->arena(kDevice)[0], 0);
  EXPECT_EQ(device->arena(kDevice)[1], host[0]);
}

// A failure ends the device: with its tag, from any stream, and for everything that waits.
TEST(CpuDevice, AnErrorStopsAllStreams) {
  auto device = makeCpuDevice(1);
  ASSERT_TRUE(device->createStreams({.used = {true, true}, .events = 1, .maxBuffers = 1}).ok());
  flatbuffers::FlatBufferBuilder flat;
  format::InstructionT made;
  made.op.Set(test::record(0)); // computes nothing
  flat.Finish(format::CreateInstruction(flat, &made));
  Command command;
  command.source = flatbuffers::GetRoot<format::Instruction>(flat.GetBufferPointer());
  ASSERT_TRUE(device->enqueue(1, command, {.tag = 7}).ok());
  // The host may find the stopped device at any call from here on.
  (void)device->enqueueRecord(1, 0, {.tag = 8});
  (void)device->enqueueWait(0, 0, {.tag = 9});
  uint64_t step = 0, tag = 0;
  (void)device->endStep({}, step);
  Status status = device->synchronize(step, tag);
  EXPECT_EQ(status.message(), "the CPU was given a record to compute, which does not");
  EXPECT_EQ(tag, 7u);
  EXPECT_TRUE(device->isDone(step));
  EXPECT_EQ(device->enqueueRecord(0, 0, {}).statusCode(), StatusCode::Aborted);
  EXPECT_EQ(device->synchronize(step, tag).message(), status.message());
}

// A collective that waits for a rank that never comes ends with the device.
TEST(CpuDevice, AbortEndsAWaitForOtherRanks) {
  auto worlds = makeLoopbackWorld(2, 60);
  std::unique_ptr<Device> devices[2];
  int group = -1;
  std::vector<std::thread> ranks;
  for (size_t rank : {0, 1})
    ranks.emplace_back([&, rank] {
      devices[rank] = makeCpuDevice(1, worlds[rank].get());
      ASSERT_TRUE(
          devices[rank]->createStreams({.used = {true}, .events = 0, .maxBuffers = 2}).ok());
      std::vector<uint32_t> all{0, 1};
      int mine = -1;
      ASSERT_TRUE(devices[rank]->createGroup(*worlds[rank], {"dp", all, 2}, mine).ok());
      if (rank == 0)
        group = mine;
    });
  for (std::thread &rank : ranks)
    rank.join();
  flatbuffers::FlatBufferBuilder flat;
  format::InstructionT made;
  made.op.Set(test::collective(format::CollectiveKind::all_reduce, 0, 0, 0, 1));
  flat.Finish(format::CreateInstruction(flat, &made));
  float value = 1;
  Command command;
  command.source = flatbuffers::GetRoot<format::Instruction>(flat.GetBufferPointer());
  command.buffers = {reinterpret_cast<char *>(&value), reinterpret_cast<char *>(&value)};
  command.group = group;
  auto begin = std::chrono::steady_clock::now();
  uint64_t step = 0, tag = 0;
  ASSERT_TRUE(devices[0]->enqueue(0, command, {}).ok());
  ASSERT_TRUE(devices[0]->endStep({}, step).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(devices[0]->isDone(step));
  devices[0]->abort();
  EXPECT_EQ(devices[0]->synchronize(step, tag).statusCode(), StatusCode::Aborted);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

} // namespace
} // namespace dtc::rt
