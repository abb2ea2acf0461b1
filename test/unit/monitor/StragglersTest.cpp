// Tests which rank is slow, from totals and a clock of the test.
#include "runtime/monitor/Stragglers.h"

#include <gtest/gtest.h>

namespace dtc::rt {
namespace {

class StragglersTest : public testing::Test {
protected:
  // Passes windows of 4 s and 100 steps of 33 ms, in which ranks work for these times in ms.
  // Returns the number of changes.
  int pass(int windows, const std::vector<uint64_t> &millis, std::vector<uint32_t> programs = {}) {
    programs.resize(4);
    int changes = 0;
    for (int window = 0; window < windows; ++window) {
      now += 4;
      steps += 100;
      for (size_t rank = 0; rank < 4; ++rank) {
        work[rank] += millis[rank] * 100 * 1000000;
        stragglers.receive(static_cast<int>(rank),
                           {programs[rank], steps, work[rank], steps * 33 * 1000000, 0});
      }
      changes += stragglers.tick(now);
    }
    return changes;
  }
  void SetUp() override { EXPECT_FALSE(stragglers.tick(now)); }

  Stragglers stragglers{4};
  double now = 1000;
  uint64_t steps = 0, work[4] = {};
};

TEST_F(StragglersTest, NamesTheOneAndWhatItCosts) {
  EXPECT_EQ(pass(2, {20, 20, 31, 20}), 0);
  EXPECT_EQ(pass(1, {20, 20, 31, 20}), 1);
  EXPECT_EQ(stragglers.current().rank, 2);
  EXPECT_NEAR(stragglers.current().workSeconds, 0.031, 1e-9);
  EXPECT_NEAR(stragglers.current().othersSeconds, 0.020, 1e-9);
  EXPECT_NEAR(stragglers.current().costShare, 11.0 / 33, 1e-9);
  EXPECT_FALSE(stragglers.isAlone(2));
  // It is reported once, until it has been as fast as others for some time.
  EXPECT_EQ(pass(5, {20, 20, 31, 20}), 0);
  EXPECT_EQ(pass(2, {20, 20, 20, 20}), 0);
  EXPECT_EQ(stragglers.current().rank, 2);
  EXPECT_EQ(pass(1, {20, 20, 20, 20}), 1);
  EXPECT_EQ(stragglers.current().rank, -1);
}

TEST_F(StragglersTest, LeavesOthersAlone) {
  EXPECT_EQ(pass(9, {20, 21, 28, 20}), 0); // 1.4 times
  EXPECT_EQ(pass(9, {2, 2, 3, 2}), 0);     // 3 % of a step
  for (int i = 0; i < 9; ++i) {            // only now and then
    EXPECT_EQ(pass(2, {20, 20, 40, 20}), 0);
    EXPECT_EQ(pass(1, {20, 20, 20, 20}), 0);
  }
}

TEST_F(StragglersTest, NamesOneThatSignalsStop) {
  for (uint64_t window = 1; window <= 3; ++window) {
    now += 4;
    for (int rank = 0; rank < 4; ++rank)
      stragglers.receive(rank, {0, window * 100, window * 2000000000, window * 3300000000,
                                rank == 1 ? window * 1000000000 : 0});
    EXPECT_EQ(stragglers.tick(now), window == 3);
  }
  EXPECT_EQ(stragglers.current().rank, 1);
  EXPECT_NEAR(stragglers.current().stoppedSeconds, 0.01, 1e-9);
  EXPECT_NEAR(stragglers.current().costShare, 10.0 / 33, 1e-9);
}

// The step in which it is stopped has not ended.
TEST_F(StragglersTest, CostsNoMoreThanTheSteps) {
  for (uint64_t window = 1; window <= 3; ++window) {
    now += 4;
    for (int rank = 0; rank < 4; ++rank)
      stragglers.receive(rank, {0, window * 40, window * 40000000, window * 3900000000,
                                rank == 1 ? window * 3950000000 : 0});
    EXPECT_EQ(stragglers.tick(now), window == 3);
  }
  EXPECT_EQ(stragglers.current().rank, 1);
  EXPECT_EQ(stragglers.current().costShare, 1);
}

// Stages of a pipeline have different work.
TEST_F(StragglersTest, ComparesRanksOfOneProgram) {
  EXPECT_EQ(pass(9, {10, 30, 10, 30}, {0, 1, 0, 1}), 0);
  EXPECT_EQ(pass(3, {10, 30, 16, 30}, {0, 1, 0, 1}), 1);
  EXPECT_EQ(stragglers.current().rank, 2);
  // The result is the rank that costs most.
  EXPECT_EQ(pass(3, {10, 30, 16, 50}, {0, 1, 0, 1}), 1);
  EXPECT_EQ(stragglers.current().rank, 3);
}

TEST_F(StragglersTest, ComparesARankAloneWithItself) {
  EXPECT_EQ(pass(4, {10, 20, 30, 12}, {0, 1, 2, 3}), 0);
  EXPECT_EQ(pass(3, {10, 20, 30, 18}, {0, 1, 2, 3}), 1);
  EXPECT_EQ(stragglers.current().rank, 3);
  EXPECT_TRUE(stragglers.isAlone(3));
}

TEST_F(StragglersTest, NamesOneOfSeveralThatAreAsSlow) {
  EXPECT_EQ(pass(3, {20, 31, 32, 20}), 1);
  EXPECT_EQ(stragglers.current().rank, 2);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(pass(1, {20, 32, 31, 20}), 0);
    EXPECT_EQ(pass(1, {20, 31, 32, 20}), 0);
  }
  EXPECT_EQ(stragglers.current().rank, 2);
}

TEST_F(StragglersTest, LeavesOutRanksThatReportNothing) {
  for (uint64_t window = 1; window <= 3; ++window) {
    now += 4;
    for (int rank = 0; rank < 3; ++rank)
      stragglers.receive(rank, {0, window * 100, window * (rank == 1 ? 3100000000 : 2000000000),
                                window * 3300000000, 0});
    EXPECT_EQ(stragglers.tick(now), window == 3);
  }
  EXPECT_EQ(stragglers.current().rank, 1);
}

TEST_F(StragglersTest, BeginsAnewWhereCountsGoBack) {
  EXPECT_EQ(pass(3, {20, 20, 31, 20}), 1);
  for (int rank = 1; rank < 4; ++rank)
    stragglers.receive(rank,
                       {0, steps + 100, work[rank] + 2000000000, (steps + 100) * 33000000, 0});
  stragglers.receive(0, {0, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX});
  (void)stragglers.tick(now += 4);
  EXPECT_EQ(pass(1, {20, 20, 31, 20}), 0); // no window yet
  EXPECT_EQ(pass(3, {31, 20, 20, 20}), 1);
  EXPECT_EQ(stragglers.current().rank, 0);
}

TEST_F(StragglersTest, WaitsForEveryRankThatHasReported) {
  stragglers.receive(3, {});
  for (int i = 0; i < 9; ++i) {
    now += 4;
    for (int rank = 0; rank < 3; ++rank)
      stragglers.receive(rank, {0, 100u * static_cast<uint64_t>(i), 1, 1, 0});
    EXPECT_FALSE(stragglers.tick(now));
  }
}

} // namespace
} // namespace dtc::rt
