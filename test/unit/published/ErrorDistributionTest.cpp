#include "bench/planner/ErrorDistribution.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace dtc::published;
using Kind = ErrorSample::Kind;

TEST(ErrorDistribution, OfNothingIsTheWiderOne) {
  ErrorDistribution base = ErrorDistribution::laplace(0.2);
  EXPECT_NEAR(base.shareBelow(0), 0.5, 1e-9);
  EXPECT_NEAR(base.quantile(0.5), 0, 1e-9);
  // Half of all errors are within 0.2 log 2 of 0, except for the width of a cell.
  EXPECT_NEAR(base.quantile(0.75), 0.2 * std::log(2), 0.002);
  EXPECT_NEAR(base.of({}, 5).quantile(0.9), base.quantile(0.9), 1e-9);
}

// Five runs at 0.3 have the weight of a pull of five, which is half of the mass.
TEST(ErrorDistribution, WeighsRunsAgainstTheWiderOne) {
  ErrorDistribution base = ErrorDistribution::laplace(0.2);
  ErrorDistribution found = base.of({{Kind::Exact, 0.3025, 5}}, 5);
  EXPECT_NEAR(found.shareBelow(0.3), 0.5 * base.shareBelow(0.3), 1e-9);
  EXPECT_NEAR(found.shareBelow(0.305), 0.5 + 0.5 * base.shareBelow(0.305), 1e-9);
  EXPECT_NEAR(found.quantile(0.5 * base.shareBelow(0.3) + 0.25), 0.3025, 0.0026);
  ErrorDistribution lighter = base.of({{Kind::Exact, 0.3025, 1}}, 5);
  EXPECT_NEAR(lighter.shareBelow(0.3), 5.0 / 6 * base.shareBelow(0.3), 1e-9);
}

// A bound contains no information about its right side, so the shares there stay in proportion.
TEST(ErrorDistribution, SpreadsBoundsOverWhatTheyLeave) {
  ErrorDistribution base = ErrorDistribution::laplace(0.2);
  ErrorDistribution above = base.of({{Kind::Above, 0, 1e6}}, 1);
  EXPECT_NEAR(above.shareBelow(0), 0, 1e-5);
  EXPECT_NEAR(above.quantile(0.5), base.quantile(0.75), 0.006);
  ErrorDistribution below = base.of({{Kind::AtMost, -0.0001, 1e6}}, 1);
  EXPECT_NEAR(below.shareBelow(0), 1, 1e-5);
  EXPECT_NEAR(below.quantile(0.5), base.quantile(0.25), 0.006);
}

// Two runs are known to one bound each: one fits into 1 and the other does not fit into 0.5, so
// both are between.
TEST(ErrorDistribution, BoundsFromBothSidesMeet) {
  ErrorDistribution base = ErrorDistribution::laplace(0.5);
  ErrorDistribution found = base.of({{Kind::Above, 0.2, 1000}, {Kind::AtMost, 0.4, 1000}}, 1);
  EXPECT_GT(found.shareBelow(0.41) - found.shareBelow(0.2), 0.95);
}

TEST(ErrorDistribution, HoldsWhatIsBeyondItsEnds) {
  ErrorDistribution base = ErrorDistribution::laplace(0.2);
  ErrorDistribution found = base.of({{Kind::Exact, 7, 1}, {Kind::Exact, -7, 1}}, 1e-6);
  EXPECT_NEAR(found.shareBelow(-1.99), 0.5, 1e-5);
  EXPECT_NEAR(found.shareBelow(1.99), 0.5, 1e-5);
  ErrorDistribution never = base.of({{Kind::Above, 9, 1}, {Kind::AtMost, 9, 1}}, 1);
  EXPECT_NEAR(never.shareBelow(2), 1, 1e-9);
}
