#include "bench/planner/Regret.h"
#include "bench/planner/ReportTrust.h"
#include "test/unit/published/CaseResults.h"

#include <gtest/gtest.h>

using namespace dtc::published;

TEST(Regret, IsWhatThePickTakesBeyondTheBest) {
  CaseResults rows;
  rows.add("a", 10, 13);
  rows.add("a", 12, 12); // picked: 20 % slower than the best
  rows.add("a", 15, 16);
  Regret regret = regretOf(rows.all(), isEstimatedToFit);
  ASSERT_EQ(regret.lost.size(), 1u);
  EXPECT_NEAR(regret.lost[0], 0.2, 1e-12);
  EXPECT_NEAR(regret.median(), 0.2, 1e-12);
  EXPECT_EQ(regret.ranOutOfMemory, 0);
  EXPECT_EQ(regret.nothingFits, 0);
}

TEST(Regret, PicksOfRowsThatAreEstimatedToFit) {
  CaseResults rows;
  rows.add("a", 12, 11);
  rows.add("a", 10, 9, 81); // the fastest, but too large by the estimate
  EXPECT_NEAR(regretOf(rows.all(), isEstimatedToFit).lost.at(0), 0.2, 1e-12);
}

TEST(Regret, PicksTheLeastMemoryWhereNothingFits) {
  CaseResults rows;
  rows.add("a", 10, 9, 90);
  rows.add("a", 13, 11, 81);
  Regret regret = regretOf(rows.all(), isEstimatedToFit);
  EXPECT_NEAR(regret.lost.at(0), 0.3, 1e-12);
  EXPECT_EQ(regret.nothingFits, 1);
}

TEST(Regret, CountsPicksThatRanOutOfMemoryAndTakesTheNext) {
  CaseResults rows;
  rows.add("a", 0, 8);
  rows.add("a", 11, 9);
  rows.add("a", 10, 10);
  Regret regret = regretOf(rows.all(), isEstimatedToFit);
  EXPECT_EQ(regret.ranOutOfMemory, 1);
  EXPECT_NEAR(regret.lost.at(0), 0.1, 1e-12);
}

// Other batches, models and sources form other groups, and one row alone forms none.
TEST(Regret, ComparesRowsThatDifferInTheirPlanAlone) {
  CaseResults rows;
  rows.add("a", 10, 10);
  rows.add("a", 12, 12);
  rows.add("b", 5, 5);
  rows.add("a", 1, 1);
  rows.rowOf(3).cells["global_batch"] = "64";
  Regret regret = regretOf(rows.all(), isEstimatedToFit);
  ASSERT_EQ(regret.lost.size(), 1u);
  EXPECT_EQ(regret.lost[0], 0);
}

TEST(Regret, NinetiethPercentileIsOfGroups) {
  CaseResults rows;
  for (int i = 0; i <= 10; ++i) {
    std::string source = "s" + std::to_string(i);
    rows.add(source, 100, 2);
    rows.add(source, 100 + i, 1); // always the pick; the same in the first
  }
  Regret regret = regretOf(rows.all(), isEstimatedToFit);
  EXPECT_EQ(regret.lost.size(), 10u);
  EXPECT_NEAR(regret.p90(), 0.091, 1e-12);
  EXPECT_NEAR(regret.median(), 0.055, 1e-12);
}

TEST(WeakSources, AreThoseOfFiveRowsOrMoreThatAreOftenWrong) {
  CaseResults rows;
  for (const char *source : {"four", "five", "seven", "mixed"})
    rows.add(source, 1, 1, 90); // it ran, although the estimate did not fit
  for (int i = 0; i < 6; ++i) {
    rows.add("seven", 1, 1, 40); // 6 of 7 are right: 85.7 %
    if (i < 4)
      rows.add("five", 1, 1, 40);
    if (i < 3)
      rows.add("four", 1, 1, 40);
    rows.add("mixed", 0, 1, i < 5 ? 90 : 40); // one that failed fits by the estimate: 5 of 7
  }
  EXPECT_EQ(weakSources(rows.all()), (std::vector<std::string>{"five", "mixed"}));
}

TEST(PrintFits, MarksSourcesThatAreOftenWrong) {
  CaseResults rows;
  for (int i = 0; i < 5; ++i)
    rows.add("weak", 1, 1, i == 0 ? 90 : 40);
  rows.add("good", 0, 1, 90);
  std::string text;
  llvm::raw_string_ostream out(text);
  printFits(rows.all(), "fits", out);
  EXPECT_NE(text.find("weak     5   80.0 %                  0                0    5"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("1  below 85 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("below"), text.rfind("below")) << text;
}
