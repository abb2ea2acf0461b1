#include "bench/planner/Coverage.h"
#include "test/unit/published/CaseResults.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace dtc;
using namespace dtc::published;

namespace {

// Returns errors from a tenth less to a tenth more. In half of the runs memory is as in a run of
// the same size.
Uncertainty tenth(const ErrorClass &) {
  ClassErrors errors;
  errors.timeLow = std::log(0.9);
  errors.timeHigh = std::log(1.1);
  for (size_t i = 0; i < kErrorLevels.size(); ++i)
    errors.memory[i] = kErrorLevels[i] - 0.5;
  return Uncertainty(errors);
}

} // namespace

TEST(Coverage, CountsWhatIsInsideAndOnWhichSideTheRestIs) {
  CaseResults rows;
  for (double seconds : {8.9, 9.1, 10.0, 10.9, 11.1, 12.0})
    rows.add("a", seconds, 10);
  rows.add("a", 0, 10); // no time
  Coverage coverage = coverageOf(rows.all(), tenth);
  EXPECT_EQ(coverage.rows, 6);
  EXPECT_EQ(coverage.below, 1);
  EXPECT_EQ(coverage.above, 2);
  EXPECT_NEAR(coverage.inside(), 0.5, 1e-12);
  EXPECT_NEAR(coverage.width, std::log(1.1 / 0.9), 1e-12);
}

TEST(FitBins, CompareWhatIsPredictedWithWhatRan) {
  CaseResults rows;
  rows.add("a", 1, 1, 80);                  // one in two
  rows.add("a", 0, 1, 80 * std::exp(0.29)); // 21 %
  rows.add("a", 1, 1, 80 * std::exp(0.25)); // 25 %
  rows.add("a", 1, 1, 80 * std::exp(-0.46));
  std::vector<FitBin> bins = fitBinsOf(rows.all(), tenth);
  ASSERT_EQ(bins.size(), 6u);
  EXPECT_EQ(bins[2].least, 0.2);
  EXPECT_EQ(bins[2].rows, 2);
  EXPECT_EQ(bins[2].ran, 1);
  EXPECT_NEAR(bins[2].predicted, 0.23, 1e-9);
  EXPECT_EQ(bins[3].rows, 1);
  EXPECT_EQ(bins[3].ran, 1);
  EXPECT_EQ(bins[5].rows, 1);
  EXPECT_NEAR(bins[5].predicted, 0.96, 1e-9);
  EXPECT_EQ(bins[0].rows, 0);
}
