#include "runtime/base/Checked.h"

#include <gtest/gtest.h>

namespace dtc::format {

TEST(Checked, RemembersOverflow) {
  EXPECT_FALSE((Checked(~uint64_t(0)) + 1).ok());
  EXPECT_FALSE((Checked(~uint64_t(0)) + 1 - 1).ok());
  EXPECT_FALSE((Checked(uint64_t(1) << 33) * (uint64_t(1) << 31)).ok());
  EXPECT_FALSE((Checked(0) - 1).ok());
}

TEST(Checked, ComputesWhatFits) {
  EXPECT_EQ(((Checked(3) - 1) * 10 + 7).value(), 27u);
  EXPECT_TRUE((Checked(uint64_t(1) << 32) * ((uint64_t(1) << 32) - 1)).ok());
  EXPECT_TRUE(Checked(5).atMost(5));
  EXPECT_FALSE(Checked(6).atMost(5));
  EXPECT_FALSE((Checked(~uint64_t(0)) + 2).atMost(~uint64_t(0)));
}

TEST(Checked, SignedHelpersSayWhenTheyOverflow) {
  int64_t result = 0;
  EXPECT_TRUE(checkedMul<int64_t>(-3, 4, result));
  EXPECT_EQ(result, -12);
  EXPECT_FALSE(checkedMul<int64_t>(INT64_MIN, -1, result));
  EXPECT_FALSE(checkedAdd<int64_t>(INT64_MAX, 1, result));
}

} // namespace dtc::format
