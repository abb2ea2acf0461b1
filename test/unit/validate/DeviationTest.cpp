// Tests how deviations of runs are measured, and which ones are mismatches.
#include "compiler/measure/validate/Deviation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dtc {
namespace {

TrainedRun sampleRun() {
  return {{2, 1}, {{"a", {1, -1, 1, -1}}, {"zero", {0, 0}}}, {{"a", {3, 4}}}};
}

const Deviation &gradientOf(const Deviations &all, const std::string &name) {
  for (const Deviation &each : all.gradients)
    if (each.name == name)
      return each;
  ADD_FAILURE() << name;
  return all.gradients.front();
}

TEST(Deviation, IsRelativeToTheRootMeanSquare) {
  TrainedRun found = sampleRun();
  found.losses[1] = 1.5; // root mean square of the losses: sqrt(2.5)
  found.gradients["a"][2] = 1.5;
  found.parameters["a"][0] = 3.5; // root mean square: sqrt(12.5)
  Deviations all = compareRuns(found, sampleRun());
  EXPECT_NEAR(all.loss.largest, 0.5 / std::sqrt(2.5), 1e-12);
  EXPECT_NEAR(gradientOf(all, "a").largest, 0.5, 1e-12);
  EXPECT_NEAR(gradientOf(all, "a").meanSquare, 0.25, 1e-12);
  EXPECT_NEAR(all.parameters[0].largest, 0.5 / std::sqrt(12.5), 1e-12);
}

// All gradients together have a root mean square of sqrt(4 / 6). A deviation of a zero gradient is
// relative to 1e-3 of that.
TEST(Deviation, OfAZeroGradientIsThatOfAll) {
  TrainedRun found = sampleRun();
  found.gradients["zero"][0] = 1e-8F;
  EXPECT_NEAR(gradientOf(compareRuns(found, sampleRun()), "zero").largest,
              1e-8 / (1e-3 * std::sqrt(4.0 / 6)), 1e-10);
}

TEST(Deviation, OfWhatIsMissingOrNotFiniteIsInfinite) {
  TrainedRun found = sampleRun();
  found.gradients.erase("zero");
  found.gradients["other"] = {1};
  found.gradients["a"][0] = NAN;
  found.losses.pop_back();
  Deviations all = compareRuns(found, sampleRun());
  for (const char *name : {"zero", "other", "a"})
    EXPECT_TRUE(std::isinf(gradientOf(all, name).largest)) << name;
  EXPECT_TRUE(std::isinf(all.loss.largest));
  EXPECT_TRUE(findMismatch(all, nullptr).has_value());
  EXPECT_TRUE(findMismatch(all, &all).has_value()); // also for NaN
}

TEST(Deviation, InF32IsBounded) {
  Deviations all = compareRuns(sampleRun(), sampleRun());
  EXPECT_EQ(findMismatch(all, nullptr), std::nullopt);
  all.parameters[0].largest = 1.01 * kF32Tolerance;
  EXPECT_NE(findMismatch(all, nullptr)->find("parameter 'a' differs by"), std::string::npos);
  all.parameters[0].largest = 0.99 * kF32Tolerance;
  EXPECT_EQ(findMismatch(all, nullptr), std::nullopt);
  all.loss.largest = 1;
  EXPECT_NE(findMismatch(all, nullptr)->find("the loss differs by"), std::string::npos);
}

TEST(Deviation, InALowerPrecisionIsTwiceItsRounding) {
  Deviations rounding = compareRuns(sampleRun(), sampleRun()), found = rounding;
  rounding.gradients[0].meanSquare = 0.01;
  found.gradients[0].meanSquare = 0.019;
  EXPECT_EQ(findMismatch(found, &rounding), std::nullopt);
  found.gradients[0].meanSquare = 0.021;
  EXPECT_NE(findMismatch(found, &rounding)->find("gradient 'a' differs by"), std::string::npos);
}

TEST(Deviation, WorstIsTheLargest) {
  std::vector<Deviation> all = {{"a", 1, 0}, {"b", 3, 0}, {"c", 2, 0}};
  EXPECT_EQ(Deviations::worstOf(all)->name, "b");
  EXPECT_EQ(Deviations::worstOf({}), nullptr);
}

} // namespace
} // namespace dtc
