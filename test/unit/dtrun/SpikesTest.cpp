#include "tools/dtrun/Spikes.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dtc::rt {
namespace {

TEST(Spikes, AreLossesFarAboveTheMean) {
  EXPECT_TRUE(isSpike({2.0, 10}, 7.0, 3));
  EXPECT_FALSE(isSpike({2.0, 10}, 6.0, 3));
  EXPECT_FALSE(isSpike({2.0, 10}, -7.0, 3));
}

TEST(Spikes, AreNotKnownOfTheFirstLosses) {
  EXPECT_FALSE(isSpike({2.0, kFewestBeforeSpike - 1}, 7.0, 3));
  EXPECT_TRUE(isSpike({2.0, kFewestBeforeSpike}, 7.0, 3));
}

TEST(Spikes, AreLossesThatAreNoNumber) {
  EXPECT_TRUE(isSpike({}, NAN, 3));
  EXPECT_TRUE(isSpike({2.0, 10}, INFINITY, 3));
}

TEST(Spikes, MeasureAgainstTheMeanOfTheFirstAndThenMoreOfTheLast) {
  LossMean mean;
  for (double loss : {1.0, 2.0, 6.0})
    mean.add(loss);
  EXPECT_EQ(mean.value, 3.0);
  EXPECT_EQ(mean.steps, 3u);
  mean = {1.0, 1000};
  mean.add(3.0);
  EXPECT_DOUBLE_EQ(mean.value, 1.0 + 2.0 / 20);
}

} // namespace
} // namespace dtc::rt
