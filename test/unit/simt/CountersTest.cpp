// Tests sectors and bank conflicts of patterns for which both are known.
#include "test/unit/simt/HostKernel.h"

#include <gtest/gtest.h>

using namespace dtc;
using namespace dtc::simt;
using namespace dtc::simt::test;

namespace {

template <typename T, int stride, bool shared> void touch(void **parameters) {
  T *x = shared ? sharedArray<T>() : parameter<T *>(parameters, 0);
  write<10>(x + stride * threadIndex(), T{});
}

struct alignas(16) Four {
  float values[4];
};

template <typename T, int stride, bool shared = false> AccessCount count() {
  Memory memory;
  Buffer<char> x(memory, 32768);
  void *parameters[] = {&x.data};
  Counters counters;
  EXPECT_EQ(launch(kernelOf(touch<T, stride, shared>, 32768), {1}, {64}, 0, parameters, memory, {},
                   &counters)
                .message(),
            "");
  EXPECT_EQ(counters.threads, 64u);
  EXPECT_EQ(counters.sites.size(), 1u);
  EXPECT_EQ(counters.sites[0].location, "Kernel.cu:10");
  return counters.total;
}

TEST(Counters, CountSectors) {
  EXPECT_EQ((count<float, 1>().globalRequests), 2u);
  EXPECT_EQ((count<float, 1>().sectorsPerRequest()), 4.0);
  EXPECT_EQ((count<float, 1>().sectorRatio()), 1.0);
  EXPECT_EQ((count<float, 2>().sectorsPerRequest()), 8.0);
  EXPECT_EQ((count<float, 8>().sectorsPerRequest()), 32.0);
  EXPECT_EQ((count<float, 8>().sectorRatio()), 8.0);
  EXPECT_EQ((count<uint16_t, 1>().sectorsPerRequest()), 2.0);
  EXPECT_EQ((count<Four, 1>().sectorsPerRequest()), 16.0);
  EXPECT_EQ((count<Four, 1>().sectorRatio()), 1.0);
}

TEST(Counters, CountBankConflicts) {
  EXPECT_EQ((count<float, 1, true>().bankConflicts()), 1.0);
  EXPECT_EQ((count<float, 2, true>().bankConflicts()), 2.0);
  EXPECT_EQ((count<float, 32, true>().bankConflicts()), 32.0);
  EXPECT_EQ((count<float, 33, true>().bankConflicts()), 1.0);
  EXPECT_EQ((count<Four, 1, true>().bankConflicts()), 1.0);
  EXPECT_EQ((count<Four, 8, true>().bankConflicts()), 8.0);
}

} // namespace
