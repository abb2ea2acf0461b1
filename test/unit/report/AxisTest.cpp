// Axes of charts.
#include "compiler/show/report/Axis.h"

#include <gtest/gtest.h>

using namespace dtc::html;

TEST(Scale, MapsOneRangeOntoAnother) {
  Scale scale{0, 10, 100, 0};
  EXPECT_DOUBLE_EQ(scale(0), 100);
  EXPECT_DOUBLE_EQ(scale(2.5), 75);
  EXPECT_DOUBLE_EQ((Scale{3, 3, 7, 9}(3)), 7); // nothing to divide by
}

TEST(Unit, LeavesOneToThreeDigits) {
  EXPECT_EQ(secondsUnit(2).name, "s");
  EXPECT_EQ(secondsUnit(0.02).name, "ms");
  EXPECT_EQ(secondsUnit(2e-6).name, "us");
  EXPECT_EQ(bytesUnit(80.0 * (1 << 30)).name, "GiB");
  EXPECT_EQ(bytesUnit(1024).name, "KiB");
}

TEST(Ticks, AreRoundInTheirUnit) {
  Unit ms = secondsUnit(0.1);
  std::vector<double> ticks = ticksOf(0, 0.1, 5, ms);
  ASSERT_EQ(ticks.size(), 6u);
  EXPECT_EQ(tickText(ticks[0], ms), "0");
  EXPECT_EQ(tickText(ticks[1], ms), "20");
  EXPECT_EQ(tickText(ticks[5], ms), "100");
  EXPECT_EQ(tickText(ticksOf(17.2, 20.7, 8, {"s", 1}).front(), {"s", 1}), "17.5");
  EXPECT_TRUE(ticksOf(1, 1, 5, ms).empty());
}
