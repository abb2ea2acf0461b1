// The page as a whole, for plans that commands do not make.
#include "compiler/report/Report.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

// One stage of one layer; 1 s forward and 2 s backward.
Plan oneStage() {
  Plan plan;
  plan.modelName = "m";
  plan.topologyName = "t";
  plan.predicted.stepSeconds = 3;
  plan.predicted.times.compute = 3;
  PlanStage stage;
  stage.chunks = {{0, 0}};
  stage.recompute = {"none"};
  stage.ranks = {0};
  stage.forwardSeconds = stage.backwardInputSeconds = stage.backwardWeightSeconds = 1;
  stage.memory.parameters = stage.peakMemoryBytes = 1 << 20;
  plan.stages = {stage};
  plan.predicted.peakMemoryBytes = 1 << 20;
  return plan;
}

std::string pageOf(const Plan &plan, std::optional<int64_t> limit = std::nullopt) {
  PlanOutcome outcome;
  outcome.best = plan;
  return reportPage(outcome, *loadTopology("cpu", 0, 1), limit);
}

bool has(const std::string &page, const std::string &text) {
  return page.find(text) != std::string::npos;
}

} // namespace

TEST(ReportPage, HasBothCountsOfAttention) {
  Plan plan = oneStage();
  plan.predicted.mfu = 0.5;
  plan.predicted.mfuCausal = 0.25;
  std::string page = pageOf(plan);
  EXPECT_TRUE(has(page, "<dt>Utilisation</dt><dd>50.0 %"));
  EXPECT_TRUE(has(page, "model flops; 25.0 % counting attention causal"));
}

TEST(ReportPage, DrawsAllOfASmallStep) {
  std::string page = pageOf(oneStage());
  EXPECT_TRUE(has(page, "<h1>Plan for m on t</h1>"));
  EXPECT_TRUE(has(page, "forward of micro-batch 0: 0 s to 1 s"));
  EXPECT_TRUE(has(page, "backward of micro-batch 0: 1 s to 3 s"));
  EXPECT_TRUE(has(page, "One device: there is nothing to place."));
}

// Names come out of files.
TEST(ReportPage, EscapesNames) {
  Plan plan = oneStage();
  plan.modelName = "<script>alert(1)</script>";
  plan.tensors["\"><img src=x>"]["tp"] = "<b>";
  std::string page = pageOf(plan);
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_FALSE(has(page, "<img"));
  EXPECT_FALSE(has(page, "<b>"));
  EXPECT_TRUE(has(page, "&lt;script&gt;"));
}

// Plans of an older dtc have no times.
TEST(ReportPage, SaysWhyThereIsNoTimeLine) {
  Plan plan = oneStage();
  plan.stages[0].forwardSeconds = 0;
  std::string page = pageOf(plan);
  EXPECT_TRUE(has(
      page,
      "No time line: ordering the plan&#39;s micro-batches: stage 0 has no &#39;forward_s&#39;."));
  EXPECT_TRUE(has(page, "id=\"memory\""));
}

TEST(ReportPage, SaysWhatDoesNotFit) {
  Plan plan = oneStage();
  plan.predicted.fits = false;
  EXPECT_TRUE(has(pageOf(plan, 1 << 19), "does not fit into 512 KiB"));
}
