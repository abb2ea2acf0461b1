// Puts each kind of fault into a kernel. The emulator must find it and name its location. The
// kernel without the fault must run.
#include "test/unit/simt/HostKernel.h"

#include <gtest/gtest.h>

using namespace dtc;
using namespace dtc::simt;
using namespace dtc::simt::test;

namespace {

constexpr uint64_t seeds = 20;

std::string launchAll(const Kernel &kernel, Dim3 grid, Dim3 block,
                      const std::vector<void *> &parameters, Memory &memory, uint64_t seed = 0) {
  std::vector<void *> addresses;
  for (void *const &parameter : parameters)
    addresses.push_back(const_cast<void **>(&parameter));
  Options options;
  options.seed = seed;
  options.maxSteps = 100000;
  return launch(kernel, grid, block, 0, addresses.data(), memory, options).message();
}

void expectFault(const std::string &message, const std::string &start, const std::string &part) {
  EXPECT_EQ(message.substr(0, start.size()), start);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

template <typename Check> void forAllSeeds(Check check) {
  for (uint64_t seed = 0; seed < seeds; ++seed)
    check(seed);
}

// Fills x[i] of n numbers with a grid that may be too large.
void fillGlobal(void **parameters) {
  auto *x = parameter<uint32_t *>(parameters, 0);
  write<12>(x + 32 * blockIndex() + threadIndex(), 1u);
}

TEST(Faults, FindsAWriteBehindARange) {
  Memory memory;
  Buffer<uint32_t> right(memory, 64), wrong(memory, 63);
  EXPECT_EQ(launchAll(kernelOf(fillGlobal), {2}, {32}, {right.data}, memory), "");
  expectFault(
      launchAll(kernelOf(fillGlobal), {2}, {32}, {wrong.data}, memory),
      "kernel 'kernel', block (1,0,0), thread (31,0,0), Kernel.cu:12: writes 4 bytes at 0x",
      ", which is not memory of the kernel: 252 bytes behind the start of a range of 252 bytes");
}

TEST(Faults, FindsAccessesToMemoryThatWasFreed) {
  Memory memory;
  Buffer<uint32_t> x(memory, 64);
  ASSERT_TRUE(memory.free(x.data).ok());
  expectFault(launchAll(kernelOf(fillGlobal), {1}, {32}, {x.data}, memory),
              "kernel 'kernel', block (0,0,0), thread (0,0,0)", "not memory of the kernel");
}

void misaligned(void **parameters) {
  auto *x = reinterpret_cast<char *>(parameter<uint32_t *>(parameters, 0));
  Engine::current().access({x + 2, 4, 4, simt::abi::Access::Write, simt::abi::Space::Global},
                           *at<7>());
}

TEST(Faults, FindsAMisalignedAccess) {
  Memory memory;
  Buffer<uint32_t> x(memory, 4);
  expectFault(launchAll(kernelOf(misaligned), {1}, {1}, {x.data}, memory),
              "kernel 'kernel', block (0,0,0), thread (0,0,0), Kernel.cu:7: writes 4 bytes at 0x",
              "2, which is not a multiple of 4");
}

void copyGlobal(void **parameters) {
  auto *to = parameter<uint32_t *>(parameters, 0), *from = parameter<uint32_t *>(parameters, 1);
  write<5>(to + threadIndex(), read<4>(from + threadIndex()));
}

TEST(Faults, FindsAReadOfWhatNoOneWrote) {
  Memory memory;
  Buffer<uint32_t> to(memory, 4), from(memory, 4);
  ASSERT_TRUE(memory.markWritten(from.data, 12).ok());
  expectFault(launchAll(kernelOf(copyGlobal), {1}, {4}, {to.data, from.data}, memory),
              "kernel 'kernel', block (0,0,0), thread (3,0,0), Kernel.cu:4: reads 4 bytes at 0x",
              "of global memory, of which byte 0 was never written");
  ASSERT_TRUE(memory.markWritten(from.data, 16).ok());
  EXPECT_EQ(launchAll(kernelOf(copyGlobal), {1}, {4}, {to.data, from.data}, memory), "");
  ASSERT_TRUE(memory.markUnwritten(to.data, 4).ok());
  ASSERT_TRUE(memory.markCopied(from.data + 1, to.data, 4).ok());
  expectFault(launchAll(kernelOf(copyGlobal), {1}, {4}, {to.data, from.data}, memory),
              "kernel 'kernel', block (0,0,0), thread (1,0,0)", "was never written");
}

// y[i] = x[n - 1 - i] through shared memory, with the barrier or without.
template <bool withBarrier> void reverse(void **parameters) {
  auto *y = parameter<uint32_t *>(parameters, 0);
  auto *shared = sharedArray<uint32_t>();
  uint32_t i = threadIndex();
  write<20>(shared + i, i);
  if (withBarrier)
    device::syncBlock(0, at<21>());
  write<23>(y + i, read<22>(shared + 63 - i));
}

TEST(Faults, FindsAMissingBarrier) {
  Memory memory;
  Buffer<uint32_t> y(memory, 64);
  forAllSeeds([&](uint64_t seed) {
    EXPECT_EQ(launchAll(kernelOf(reverse<true>, 256), {1}, {64}, {y.data}, memory, seed), "");
    EXPECT_EQ(y.values()[1], 62u);
    expectFault(launchAll(kernelOf(reverse<false>, 256), {1}, {64}, {y.data}, memory, seed),
                "kernel 'kernel', block (0,0,0)",
                "of shared memory"); // a race, or nothing was written there yet
  });
}

TEST(Faults, FindsARaceOfBlocks) {
  Memory memory;
  Buffer<uint32_t> y(memory, 64);
  expectFault(
      launchAll(kernelOf(reverse<true>, 256), {2}, {64}, {y.data}, memory),
      "kernel 'kernel', block (1,0,0), thread (63,0,0), Kernel.cu:23: writes 4 bytes at 0x",
      "of global memory, which thread 63 of block 0 wrote without a barrier between: a race");
}

// In each turn one thread writes to shared memory what all read, without a barrier at the end of
// the turn.
template <bool withBarrier> void turns(void **) {
  auto *shared = sharedArray<uint32_t>();
  for (uint32_t turn = 0; turn < 3; ++turn) {
    if (threadIndex() == turn)
      write<30>(shared, turn);
    device::syncBlock(0, at<31>());
    read<32>(shared);
    if (withBarrier)
      device::syncBlock(0, at<33>());
  }
}

TEST(Faults, FindsAWriteAfterReadsOfOtherThreads) {
  Memory memory;
  forAllSeeds([&](uint64_t seed) {
    EXPECT_EQ(launchAll(kernelOf(turns<true>, 4), {1}, {96}, {}, memory, seed), "");
    expectFault(launchAll(kernelOf(turns<false>, 4), {1}, {96}, {}, memory, seed),
                "kernel 'kernel'", "without a barrier between");
  });
}

// Accesses to neighbouring units of 1 and 2 bytes are no race; those to the same byte are.
template <typename T, bool sameByte> void neighbours(void **parameters) {
  auto *x = parameter<T *>(parameters, 0);
  write<40>(x + (sameByte ? 0 : threadIndex()), T{1});
}

TEST(Faults, TellsNeighbouringBytesApart) {
  Memory memory;
  Buffer<uint32_t> x(memory, 64);
  EXPECT_EQ(launchAll(kernelOf(neighbours<uint8_t, false>), {1}, {64}, {x.data}, memory), "");
  EXPECT_EQ(launchAll(kernelOf(neighbours<uint16_t, false>), {1}, {64}, {x.data}, memory), "");
  expectFault(launchAll(kernelOf(neighbours<uint8_t, true>), {1}, {64}, {x.data}, memory),
              "kernel 'kernel'", "a race");
}

// A tree of halves over the lanes of one warp, through shared memory.
template <bool withSync> void warpTree(void **parameters) {
  auto *shared = sharedArray<uint32_t>();
  uint32_t i = threadIndex();
  write<50>(shared + i, i);
  for (uint32_t half = 16; half; half /= 2) {
    if (withSync)
      device::syncWarp(~0u, at<51>());
    uint32_t other = i < half ? read<52>(shared + i + half) : 0;
    if (withSync)
      device::syncWarp(~0u, at<53>());
    if (i < half)
      write<55>(shared + i, read<54>(shared + i) + other);
  }
  if (i == 0)
    write<56>(parameter<uint32_t *>(parameters, 0), read<56>(shared));
}

TEST(Faults, FindsAMissingWarpBarrier) {
  Memory memory;
  Buffer<uint32_t> sum(memory, 1);
  forAllSeeds([&](uint64_t seed) {
    EXPECT_EQ(launchAll(kernelOf(warpTree<true>, 128), {1}, {32}, {sum.data}, memory, seed), "");
    EXPECT_EQ(sum.values()[0], 496u);
    EXPECT_NE(launchAll(kernelOf(warpTree<false>, 128), {1}, {32}, {sum.data}, memory, seed), "");
  });
}

void atomicSum(void **parameters) { atomicAdd<60>(parameter<uint32_t *>(parameters, 0), 1); }
void atomicAndPlain(void **parameters) {
  if (threadIndex() == 7)
    write<61>(parameter<uint32_t *>(parameters, 0), 1u);
  else
    atomicAdd<60>(parameter<uint32_t *>(parameters, 0), 1);
}

TEST(Faults, LetsAtomicAccessesMeetOnlyEachOther) {
  Memory memory;
  forAllSeeds([&](uint64_t seed) {
    Buffer<uint32_t> sum(memory, std::vector<uint32_t>{0});
    EXPECT_EQ(launchAll(kernelOf(atomicSum), {4}, {64}, {sum.data}, memory, seed), "");
    EXPECT_EQ(sum.values()[0], 256u);
    expectFault(launchAll(kernelOf(atomicAndPlain), {1}, {64}, {sum.data}, memory, seed),
                "kernel 'kernel'", "a race");
  });
}

// The block that arrives last adds up what all have written. The fence orders their writes before
// it.
template <bool withFence> void lastBlock(void **parameters) {
  auto *parts = parameter<uint32_t *>(parameters, 0), *count = parameter<uint32_t *>(parameters, 1);
  auto *isLast = sharedArray<uint32_t>();
  if (threadIndex() == 0) {
    write<70>(parts + blockIndex(), blockIndex() + 1);
    if (withFence)
      device::fence(at<71>());
    write<73>(isLast, uint32_t{atomicAdd<72>(count, 1) == 3});
  }
  device::syncBlock(0, at<74>());
  if (read<75>(isLast) && threadIndex() < 4)
    write<77>(parts + 4 + threadIndex(), read<76>(parts + threadIndex()));
}

TEST(Faults, OrdersBlocksByFenceAndAtomic) {
  Memory memory;
  forAllSeeds([&](uint64_t seed) {
    Buffer<uint32_t> parts(memory, 8), count(memory, std::vector<uint32_t>{0}),
        again(memory, std::vector<uint32_t>{0});
    EXPECT_EQ(
        launchAll(kernelOf(lastBlock<true>, 4), {4}, {32}, {parts.data, count.data}, memory, seed),
        "");
    EXPECT_EQ(parts.values()[7], 4u);
    expectFault(
        launchAll(kernelOf(lastBlock<false>, 4), {4}, {32}, {parts.data, again.data}, memory, seed),
        "kernel 'kernel'", "a race");
  });
}

void divergentBarrier(void **) {
  if (threadIndex() < 40)
    device::syncBlock(0, at<80>());
  else
    device::syncBlock(0, at<81>());
}
void barrierOfSome(void **) {
  if (threadIndex() < 40)
    device::syncBlock(0, at<80>());
}

TEST(Faults, FindsBarriersThatNotAllThreadsReach) {
  Memory memory;
  expectFault(launchAll(kernelOf(divergentBarrier), {1}, {64}, {}, memory),
              "kernel 'kernel', block (0,0,0), thread (40,0,0), Kernel.cu:81: waits at this "
              "barrier, while 40 threads of "
              "its block wait at the one in Kernel.cu:80",
              "");
  forAllSeeds([&](uint64_t seed) {
    std::string message = launchAll(kernelOf(barrierOfSome), {1}, {64}, {}, memory, seed);
    EXPECT_TRUE(message.find("ends while") != std::string::npos ||
                message.find("threads have ended") != std::string::npos)
        << message;
  });
}

void divergentShuffle(void **) {
  if (threadIndex() < 16)
    device::shuffle<device::Shuffle::Butterfly>(~0u, 0, 1, 31, at<90>());
  else
    device::shuffle<device::Shuffle::Butterfly>(~0u, 0, 1, 31, at<91>());
}
void shuffleOfSome(void **) {
  if (threadIndex() < 16)
    device::shuffle<device::Shuffle::Butterfly>(~0u, 0, 1, 31, at<92>());
  else
    device::syncBlock(0, at<93>());
}
void shuffleOutside(void **) {
  if (threadIndex() < 16)
    device::shuffle<device::Shuffle::Butterfly>(0xffff, 0, 16, 31, at<94>());
}
void foreignMask(void **) {
  device::shuffle<device::Shuffle::Butterfly>(0xffff, 0, 1, 31, at<95>());
}

TEST(Faults, FindsDivergentOperationsOfWarps) {
  Memory memory;
  forAllSeeds([&](uint64_t seed) {
    expectFault(launchAll(kernelOf(divergentShuffle), {1}, {32}, {}, memory, seed),
                "kernel 'kernel'", "lanes of one warp meet at different operations");
    expectFault(launchAll(kernelOf(shuffleOfSome), {1}, {32}, {}, memory, seed), "kernel 'kernel'",
                "the block waits forever");
    expectFault(launchAll(kernelOf(shuffleOutside), {1}, {32}, {}, memory, seed), "kernel 'kernel'",
                "which takes no part in the shuffle");
    expectFault(launchAll(kernelOf(foreignMask), {1}, {32}, {}, memory, seed), "kernel 'kernel'",
                "is not in the mask that it gives");
  });
}

void spin(void **parameters) {
  while (!atomicAdd<99>(parameter<uint32_t *>(parameters, 0), 0)) {
  }
}

TEST(Faults, EndsLoopsThatDoNot) {
  Memory memory;
  Buffer<uint32_t> flag(memory, std::vector<uint32_t>{0});
  expectFault(launchAll(kernelOf(spin), {2}, {32}, {flag.data}, memory, 1), "kernel 'kernel'",
              "the launch does not end within 100000 steps");
}

// Each thread loads a tile of 16 bytes by an asynchronous copy.
template <bool waits> void asyncTile(void **parameters) {
  auto *x = parameter<uint32_t *>(parameters, 0), *y = parameter<uint32_t *>(parameters, 1);
  auto *shared = sharedArray<uint32_t>();
  uint32_t i = threadIndex();
  device::copyAsyncPart<16>(shared + 4 * i, x + 4 * i, i == 31 ? 8 : 16, at<110>());
  device::commitCopies(at<111>());
  if (waits)
    device::waitForCopies(0, at<112>());
  device::syncBlock(0, at<113>());
  for (uint32_t j = 0; j < 4; ++j)
    write<115>(y + 4 * i + j, read<114>(shared + 127 - 4 * i - j));
}

TEST(Faults, FindsReadsOfCopiesThatNoOneWaitedFor) {
  Memory memory;
  std::vector<uint32_t> numbers(126);
  for (uint32_t i = 0; i < numbers.size(); ++i)
    numbers[i] = i + 1;
  Buffer<uint32_t> x(memory, numbers), y(memory, 128);
  EXPECT_EQ(launchAll(kernelOf(asyncTile<true>, 512), {1}, {32}, {x.data, y.data}, memory), "");
  EXPECT_EQ(y.values()[0], 0u) << "what a part leaves out is zero";
  EXPECT_EQ(y.values()[2], 126u);
  EXPECT_EQ(y.values()[127], 1u);
  expectFault(launchAll(kernelOf(asyncTile<false>, 512), {1}, {32}, {x.data, y.data}, memory),
              "kernel 'kernel'", "was never written");
}

TEST(Launch, HoldsTheLimitsOfTheHardware) {
  Memory memory;
  Kernel kernel = kernelOf(divergentBarrier);
  EXPECT_EQ(launchAll(kernel, {1}, {1025}, {}, memory),
            "launching kernel 'kernel' on blocks (1,1,1) of threads (1025,1,1): a block has at "
            "most 1024 threads, 64 along z");
  EXPECT_NE(launchAll(kernel, {1}, {0}, {}, memory), "");
  EXPECT_NE(launchAll(kernel, {1, 70000}, {32}, {}, memory), "");
  kernel.requiredThreads = 128;
  EXPECT_EQ(launchAll(kernel, {1}, {64}, {}, memory),
            "launching kernel 'kernel' on blocks (1,1,1) of threads (64,1,1): the kernel was "
            "compiled for 128 threads a block");
  EXPECT_NE(launchAll(kernelOf(divergentBarrier, 300000), {1}, {32}, {}, memory), "");
}

TEST(Memory, ChecksWhatLibrariesUse) {
  Memory memory;
  Buffer<uint32_t> x(memory, 4);
  EXPECT_NE(memory.checkRead(x.data, 16, "gemm operand 'a'")
                .message()
                .find("gemm operand 'a': reads 16 bytes"),
            std::string::npos);
  EXPECT_TRUE(memory.checkWrite(x.data, 16, "gemm").ok());
  EXPECT_FALSE(memory.checkWrite(x.data + 1, 16, "gemm").ok());
  uint32_t pinned[4];
  ASSERT_TRUE(memory.addHostRange(pinned, sizeof(pinned)).ok());
  EXPECT_FALSE(memory.addHostRange(pinned + 2, 4).ok());
  EXPECT_TRUE(memory.checkRead(pinned, 16, "gemm").ok());
  EXPECT_FALSE(memory.free(pinned).ok());
  EXPECT_TRUE(memory.removeHostRange(pinned).ok());
  EXPECT_FALSE(memory.checkRead(pinned, 16, "gemm").ok());
}

} // namespace
