// Tests the stages of a plan in few rows.
#include "compiler/show/explain/StageRows.h"
#include "compiler/show/explain/CutRows.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

// Returns stages of one layer and 10 s each. Stage i keeps `inFlight[i]` GiB of activations.
Plan pipeline(std::vector<int64_t> inFlight) {
  constexpr int64_t gibibyte = int64_t(1) << 30;
  Plan plan;
  for (size_t index = 0; index < inFlight.size(); ++index) {
    PlanStage stage;
    stage.firstLayer = stage.lastLayer = static_cast<int64_t>(index);
    stage.chunks = {{stage.firstLayer, stage.lastLayer}};
    stage.recompute = {"none"};
    stage.computeSeconds = 10;
    stage.inFlight = static_cast<double>(inFlight[index]);
    stage.memory.activations = stage.peakMemoryBytes = inFlight[index] * gibibyte;
    plan.stages.push_back(stage);
  }
  return plan;
}

} // namespace

TEST(FoldStages, JoinsEqualNeighbours) {
  std::vector<StageRow> rows = foldStages(pipeline({4, 2, 2, 2, 4}));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].stages, "0");
  EXPECT_EQ(rows[1].stages, "1-3");
  EXPECT_EQ(rows[1].layers, "1-3");
  EXPECT_EQ(rows[1].figures.back(), "2 GiB");
  EXPECT_EQ(rows[2].stages, "4");
  EXPECT_EQ(rows[0].figures.size(), stageColumns().size());
}

// If not all stages have a row, those that differ least are joined, and their row shows the range.
TEST(FoldStages, JoinsTheNearestWhereRowsAreScarce) {
  std::vector<StageRow> rows = foldStages(pipeline({100, 99, 50, 49, 10}), 3);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].stages, "0-1");
  EXPECT_EQ(rows[0].figures.back(), "99-100 GiB");
  EXPECT_EQ(rows[1].stages, "2-3");
  EXPECT_EQ(rows[2].stages, "4");
  EXPECT_EQ(foldStages(pipeline({100, 99, 50, 49, 10}), 1).size(), 1u);
}

TEST(FoldStages, SaysWhereRecomputationDiffers) {
  Plan plan = pipeline({2, 2});
  plan.stages[1].recompute = {"full"};
  EXPECT_EQ(foldStages(plan).size(), 2u);
  std::vector<StageRow> rows = foldStages(plan, 1);
  ASSERT_EQ(rows.size(), 1u);
  size_t column = 0;
  while (stageColumns()[column] != "recompute")
    ++column;
  EXPECT_EQ(rows[0].figures[column], "differs");
}

// Many runs are counted, with the layers of the shortest and the longest.
TEST(FoldStages, CountsManyRuns) {
  Plan plan = pipeline({2, 4});
  plan.stages[0].chunks = {{0, 0}, {3, 4}, {7, 8}, {11, 12}};
  plan.stages[1].chunks = {{1, 2}, {5, 6}, {9, 10}, {13, 14}};
  std::vector<StageRow> rows = foldStages(plan);
  EXPECT_EQ(rows[0].layers, "4 runs of 1 to 2");
  EXPECT_EQ(rows[1].layers, "4 runs of 2");
}

TEST(CutRows, SayWhichLayersAreOnWhichStage) {
  Plan plan = pipeline({1, 1, 1});
  EXPECT_FALSE(needsCutTable(plan)); // the table of stages says it
  plan.stages[0].chunks = {{0, 1}, {6, 7}};
  plan.stages[1].chunks = {{2, 3}, {8, 9}};
  plan.stages[2].chunks = {{4, 5}, {10, 9}};
  EXPECT_TRUE(needsCutTable(plan));
  std::vector<CutRow> rows = cutRows(plan);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].stages, "0-1");
  EXPECT_EQ(rows[0].counts, "2*2");
  EXPECT_EQ(rows[0].layers, "0-3, 6-9");
  EXPECT_EQ(rows[1].stages, "2");
  EXPECT_EQ(rows[1].counts, "2+0");
  EXPECT_EQ(rows[1].layers, "4-5");
}

// Second chunks of a V go up again.
TEST(CutRows, FollowTheWayUpOfAV) {
  Plan plan = pipeline({1, 1, 1});
  plan.stages[0].chunks = {{0, 0}, {7, 7}};
  plan.stages[1].chunks = {{1, 1}, {6, 6}};
  plan.stages[2].chunks = {{2, 2}, {3, 5}};
  std::vector<CutRow> rows = cutRows(plan);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].layers, "0-1, 6-7");
  EXPECT_EQ(rows[1].layers, "2, 3-5");
}
