// Tests figures in the form that people read.
#include "compiler/show/explain/Figures.h"
#include "compiler/describe/topology/LoadTopology.h"

#include <gtest/gtest.h>

using namespace dtc;
using namespace dtc::figures;

TEST(Figures, CarryUnits) {
  EXPECT_EQ(seconds(0.0123), "12.3 ms");
  EXPECT_EQ(seconds(1e-17), "0 s");
  EXPECT_EQ(bytes(int64_t(1) << 30), "1 GiB");
}

TEST(Figures, SignChanges) {
  EXPECT_EQ(signedSeconds(1.1), "+1.1 s");
  EXPECT_EQ(signedSeconds(-2e-3), "-2 ms");
  EXPECT_EQ(signedSeconds(-1e-17), "0 s");
  EXPECT_EQ(signedBytes(-1024), "-1 KiB");
  EXPECT_EQ(signedBytes(0), "0 B");
}

TEST(Figures, GiveShares) {
  EXPECT_EQ(percent(1, 4), "25.0 %");
  EXPECT_EQ(percent(1, 0), "0.0 %");
  EXPECT_EQ(signedPercent(0.073), "+7.3 %");
  EXPECT_EQ(signedPercent(-0.0001), "0.0 %");
}

TEST(Figures, TellBothCountsOfAttention) {
  PlanPrediction predicted;
  predicted.mfu = 0.452;
  EXPECT_EQ(utilisation(predicted), "45.2 %"); // a plan without this figure
  predicted.mfuCausal = 0.452;
  EXPECT_EQ(utilisation(predicted), "45.2 %"); // a model without causal attention
  predicted.mfuCausal = 0.439;
  EXPECT_EQ(utilisation(predicted), "45.2 % (43.9 % counting attention causal)");
}

TEST(Figures, CountThings) {
  EXPECT_EQ(counted(1, "stage"), "1 stage");
  EXPECT_EQ(counted(2, "stage"), "2 stages");
}

TEST(Figures, JoinRunsOfNumbers) {
  EXPECT_EQ(rangesText({0, 1, 2, 5, 8, 9}), "0-2, 5, 8-9");
  EXPECT_EQ(rangesText({0, 8, 16, 24, 32}), "0, 8, ... (5)");
  EXPECT_EQ(rangesText({}), "");
}

TEST(Figures, LeaveOutWhatAPlanDoesNotUse) {
  Plan plan;
  EXPECT_EQ(settingsText(plan), "dp=1 tp=1 pp=1 cp=1 ep=1 sp=0 zero=0 micro_batch=1");
  plan.decisions.pp = 4;
  plan.decisions.schedule = ScheduleKind::Interleaved;
  plan.decisions.virtualStages = 2;
  plan.decisions.recomputeMost = Recompute::Full;
  plan.decisions.offloadOptimizer = true;
  plan.decisions.order = {'t', 'c', 'p', 'd'};
  EXPECT_EQ(settingsText(plan),
            "dp=1 tp=1 pp=4 cp=1 ep=1 sp=0 zero=0 micro_batch=1 interleaved x2 recompute mixed "
            "optimizer on the host order tp cp pp dp");
}

TEST(Figures, CountTokensOrSamplesPerSecond) {
  Plan plan;
  plan.globalBatch = 8;
  plan.predicted.stepSeconds = 0.5;
  EXPECT_EQ(figures::throughputOf(plan).perSecond, 16);
  EXPECT_STREQ(figures::throughputOf(plan).unit, "samples/s");
  plan.sequenceLength = 4;
  plan.predicted.tokensPerSecond = 64;
  EXPECT_EQ(figures::throughputOf(plan).perSecond, 64);
  EXPECT_STREQ(figures::throughputOf(plan).unit, "tokens/s");
}

// The devices of one part may have more memory than those of others.
TEST(Figures, LimitMemoryByTheDevicesOfTheFullestStage) {
  Topology topology = *loadTopology("mixed-l4-a100-h100");
  Plan plan;
  plan.stages.resize(2);
  plan.stages[0].ranks = {8, 9}; // A100s of 40 GB
  plan.stages[1].ranks = {16, 17};
  plan.stages[0].peakMemoryBytes = plan.predicted.peakMemoryBytes = 7;
  EXPECT_EQ(memoryLimitOf(plan, topology), topology.parts[1].device.memoryBytes);
  plan.predicted.peakMemoryBytes = plan.stages[1].peakMemoryBytes = 8;
  EXPECT_EQ(memoryLimitOf(plan, topology), topology.parts[2].device.memoryBytes);
  plan.stages[1].ranks = {7, 8}; // ranks of both parts
  EXPECT_EQ(memoryLimitOf(plan, topology), topology.parts[0].device.memoryBytes);
  plan.origin.memoryLimitBytes = 5;
  EXPECT_EQ(memoryLimitOf(plan, topology), 5);
}

TEST(SimplerText, SaysWhatTheFastestTakes) {
  Plan plan;
  plan.predicted.stepSeconds = 2;
  plan.search.fastestSeconds = 1.984;
  plan.search.tieShare = 0.01;
  EXPECT_EQ(simplerText(plan), "");
  plan.search.passedOver = "pipeline parallelism";
  EXPECT_EQ(simplerText(plan),
            "than the fastest, 1.98 s (0.8 % less), which takes pipeline parallelism; plans "
            "within 1.0 % count as equally fast");
  // The fastest in expected seconds may be slower in seconds, or faster by more than ties are.
  for (double fastest : {2.02, 1.95}) {
    plan.search.fastestSeconds = fastest;
    EXPECT_EQ(simplerText(plan).rfind("than the one that is fastest if chances to fit count, ", 0),
              0u);
    EXPECT_EQ(simplerText(plan).find(" less)"), std::string::npos);
  }
}

// Above a quarter the relaxation is a bound and no judgement.
TEST(RelaxationText, DoesNotGiveAGapThatSaysNothing) {
  PlanSearch search;
  EXPECT_EQ(relaxationText(search), "");
  search.lowerBoundSeconds = 1;
  search.optimalityGap = 0.25;
  EXPECT_NE(relaxationText(search).find("is faster than 1 s, gap 25.0 %"), std::string::npos);
  search.optimalityGap = 0.26;
  EXPECT_EQ(relaxationText(search).find("gap"), std::string::npos);
  EXPECT_NE(relaxationText(search).find("is faster than 1 s; it counts work alone"),
            std::string::npos);
}

// The note follows from the check that the planner made, or else from the decisions.
TEST(SoftwareNote, SaysWhetherThePlanCompiles) {
  Topology cpu = *loadTopology("cpu", 0, 1), gpus = *loadTopology("dgx-h100", 1, 8);
  Plan plan;
  plan.devices = 8;
  EXPECT_EQ(softwareNote(plan, cpu), "");
  EXPECT_NE(softwareNote(plan, gpus).find("has trained on one GPU"), std::string::npos);
  plan.decisions.cp = 4;
  plan.decisions.contextKind = ContextKind::Both;
  plan.decisions.contextInner = 2;
  EXPECT_NE(softwareNote(plan, cpu).find("does not take this plan: the plan has cp_kind = both"),
            std::string::npos);
  plan.origin.whyNotCompiled = "it has no words";
  EXPECT_EQ(softwareNote(plan, gpus),
            ", but 'dtc compile' does not take this plan: it has no words");
  plan.origin.software = "torchtitan";
  EXPECT_EQ(softwareNote(plan, gpus), "");
}
