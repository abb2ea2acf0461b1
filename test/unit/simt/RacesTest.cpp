// Tests which accesses are ordered, and which bytes they share.
#include "runtime/simt/Races.h"

#include <gtest/gtest.h>

using namespace dtc::simt;
using dtc::simt::abi::Access;

namespace {

struct RacesTest : testing::Test {
  RacesTest() {
    clocks.startLaunch();
    clocks.startBlock(0);
  }

  bool note(uint32_t thread, uint64_t offset, uint64_t bytes, Access access) {
    clocks.setThread(thread);
    return races.note(offset, bytes, access, epoch, clocks, other);
  }

  Races races;
  Clocks clocks;
  Stamp other;
  uint64_t epoch = 1;
};

TEST_F(RacesTest, FindsTheExampleOfTheHeader) {
  EXPECT_TRUE(note(0, 0, 4, Access::Write));
  EXPECT_FALSE(note(1, 2, 2, Access::Read));
  EXPECT_EQ(other.threadOfBlock(), 0u);
  EXPECT_TRUE(other.write);
}

TEST_F(RacesTest, OrdersByThreadWarpAndBlock) {
  EXPECT_TRUE(note(0, 0, 4, Access::Write));
  EXPECT_TRUE(note(0, 0, 4, Access::Read));
  clocks.passWarpBarrier(0);
  EXPECT_TRUE(note(31, 0, 4, Access::Write)) << "of the same warp";
  EXPECT_FALSE(note(32, 0, 4, Access::Read)) << "of another warp";
  clocks.passBlockBarrier();
  EXPECT_TRUE(note(32, 0, 4, Access::Write));
  clocks.startBlock(1);
  EXPECT_FALSE(note(32, 0, 4, Access::Read));
  EXPECT_EQ(other.block(), 0u);
  epoch = 2;
  EXPECT_TRUE(note(32, 0, 4, Access::Read)) << "of another launch";
}

TEST_F(RacesTest, KeepsReadersThatNothingOrders) {
  EXPECT_TRUE(note(0, 4094, 2, Access::Read));
  for (uint32_t thread = 1; thread < 100; ++thread)
    EXPECT_TRUE(note(thread, 4092, 8, Access::Read));
  EXPECT_FALSE(note(0, 4096, 4, Access::Write)) << "on the page behind";
  EXPECT_FALSE(other.write);
}

TEST_F(RacesTest, OrdersBlocksByReleaseAndAcquire) {
  int flag = 0;
  EXPECT_TRUE(note(5, 0, 4, Access::Write));
  clocks.setThread(5);
  clocks.release(&flag);
  EXPECT_TRUE(note(5, 8, 4, Access::Write)) << "behind the release";
  clocks.startBlock(1);
  EXPECT_FALSE(note(3, 0, 4, Access::Read));
  clocks.acquire(&flag);
  EXPECT_TRUE(note(3, 0, 4, Access::Read));
  EXPECT_FALSE(note(3, 8, 4, Access::Read));
}

TEST_F(RacesTest, LetsAtomicAccessesMeet) {
  EXPECT_TRUE(note(0, 0, 4, Access::Change));
  EXPECT_TRUE(note(1, 0, 4, Access::AtomicRead));
  EXPECT_TRUE(note(2, 0, 4, Access::AtomicWrite));
  EXPECT_FALSE(note(3, 0, 4, Access::Read));
  EXPECT_FALSE(note(3, 0, 4, Access::Write));
}

} // namespace
