// Tests the whole page, for plans that no command makes.
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/show/report/Report.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

// Makes one stage of one layer, with 1 s forward and 2 s backward.
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
  PlanResult planResult;
  planResult.best = plan;
  return reportPage(planResult, *loadTopology("cpu", 0, 1), limit);
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

TEST(ReportPage, SaysWhatTheTextSaysOfSoftwareAndErrors) {
  Plan plan = oneStage();
  plan.origin.software = "megatron-core";
  plan.predicted.stepLowSeconds = 2;
  plan.predicted.stepHighSeconds = 4;
  plan.predicted.basis = "12 runs of dense models with megatron-core";
  plan.predicted.fits = true;
  plan.predicted.fitProbability = 0.95;
  PlanResult planResult;
  planResult.best = plan;
  std::string page =
      reportPage(planResult, *loadTopology("cpu", 0, 1), std::nullopt, "dtc plan <m>");
  EXPECT_TRUE(has(page, "<dt>Software</dt><dd>megatron-core</dd>"));
  EXPECT_TRUE(has(page, "2 s to 4 s in nine of ten runs, by errors of 12 runs of dense models"));
  EXPECT_TRUE(has(page, ", fits with 95.0 %"));
  EXPECT_TRUE(has(page, "<code>dtc plan &lt;m&gt;</code>"));
}

TEST(ReportPage, SaysWhatWasDecided) {
  PlanResult planResult;
  planResult.best = oneStage();
  Topology topology = *loadTopology("cpu", 0, 1);
  std::string page =
      reportPage(planResult, topology, std::nullopt, "",
                 {{{"precision", "bf16 <fast>", "--precision"}}, "use more samples"});
  EXPECT_TRUE(has(page, "Decided for you"));
  EXPECT_TRUE(has(page, "precision"));
  EXPECT_TRUE(has(page, "bf16 &lt;fast&gt;"));
  EXPECT_TRUE(has(page, "--precision"));
  EXPECT_TRUE(has(page, "<p>Hint: use more samples.</p>"));
  EXPECT_FALSE(has(reportPage(planResult, topology), "Decided for you"));
}

// Each of the 8 devices has a tp of 2. The experts are over 4 devices, which are 2 apart, or 1
// apart if folded over tp.
TEST(ReportPage, DrawsTheRanksOfExperts) {
  for (bool folded : {false, true}) {
    Plan plan = oneStage();
    plan.devices = 8;
    plan.stages[0].ranks = {0, 1, 2, 3, 4, 5, 6, 7};
    plan.decisions.dp = 4;
    plan.decisions.tp = 2;
    plan.decisions.ep = 4;
    plan.decisions.foldedExperts = folded;
    PlanResult planResult;
    planResult.best = plan;
    std::string page = reportPage(planResult, *loadTopology("cpu", 0, 8));
    EXPECT_TRUE(has(page, "ep = 4, expert parallel"));
    EXPECT_TRUE(has(page, folded ? "rank 3: ep 3" : "rank 3: ep 1")) << folded;
    EXPECT_TRUE(has(page, folded ? "rank 4: ep 0" : "rank 4: ep 2")) << folded;
    EXPECT_TRUE(has(page, "rank 7: ep 3"));
  }
}

TEST(ReportPage, DrawsAllOfASmallStep) {
  std::string page = pageOf(oneStage());
  EXPECT_TRUE(has(page, "<h1>Plan for m on t</h1>"));
  EXPECT_TRUE(has(page, "forward of micro-batch 0: 0 s to 1 s"));
  EXPECT_TRUE(has(page, "backward of micro-batch 0: 1 s to 3 s"));
  EXPECT_TRUE(has(page, "One device: there is nothing to place."));
}

// Names come from files.
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
