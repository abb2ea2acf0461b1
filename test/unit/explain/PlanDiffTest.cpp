// Tests the differences of two plans.
#include "compiler/show/explain/PlanDiff.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

// Returns a plan with a step of 10 s: 7 s of compute, 2 s of bubble, 1 s of gradients.
Plan tenSeconds() {
  Plan plan;
  plan.modelName = "m";
  plan.globalBatch = 8;
  plan.sequenceLength = 16;
  plan.predicted.stepSeconds = 10;
  plan.predicted.tokensPerSecond = 12.8;
  plan.predicted.times.compute = 7;
  plan.predicted.times.bubble = 2;
  plan.predicted.times.exposedGradients = 1;
  plan.predicted.memory.parameters = 100;
  plan.predicted.memory.activations = 300;
  plan.predicted.peakMemoryBytes = 400;
  PlanStage stage;
  stage.recompute.assign(4, "none");
  plan.stages.assign(2, stage);
  return plan;
}

} // namespace

TEST(PlanDiff, SaysThatNothingDiffers) {
  PlanDiff diff = diffPlans(tenSeconds(), tenSeconds());
  EXPECT_EQ(diff.summary, "both are the same plan");
  EXPECT_TRUE(diff.decisions.empty());
  EXPECT_TRUE(diff.times.empty());
}

// The largest changes in either direction come first, and all add up to the change of the step.
TEST(PlanDiff, NamesWhatTheTimeGoesTo) {
  Plan a = tenSeconds(), b = tenSeconds();
  b.decisions.dp = 2;
  b.predicted.times.bubble = 3.5;
  b.predicted.times.exposedGradients = 0.5;
  b.predicted.stepSeconds = 11;
  PlanDiff diff = diffPlans(a, b);
  EXPECT_EQ(diff.summary,
            "a step of b takes 10.0 % longer: bubble +1.5 s, exposed gradient comm -500 ms");
  ASSERT_EQ(diff.decisions.size(), 1u);
  EXPECT_EQ(diff.decisions[0].key, "dp");
  EXPECT_EQ(diff.decisions[0].b, "2");
  ASSERT_EQ(diff.times.size(), 2u);
  EXPECT_EQ(diff.times[0].key, "bubble_s");
  EXPECT_DOUBLE_EQ(diff.times[0].change() + diff.times[1].change(), 1);
}

TEST(PlanDiff, ComparesRatesOfDifferentWork) {
  Plan a = tenSeconds(), b = tenSeconds();
  b.globalBatch = 16;
  b.predicted.stepSeconds = 16;
  b.predicted.tokensPerSecond = 16;
  PlanDiff diff = diffPlans(a, b);
  EXPECT_EQ(diff.summary, "the steps do different work: a trains 12.8 tokens/s, b 16 (+25.0 %)");
  ASSERT_EQ(diff.request.size(), 1u);
  EXPECT_EQ(diff.request[0].key, "global_batch");
}

TEST(PlanDiff, CountsRecomputedLayersAndLayersOfStages) {
  Plan a = tenSeconds(), b = tenSeconds();
  b.decisions.recomputeMost = Recompute::Full;
  b.stages[0].recompute = {"full", "none", "none"};
  b.stages[1].recompute = {"none", "none", "none", "none", "none"};
  PlanDiff diff = diffPlans(a, b);
  ASSERT_EQ(diff.decisions.size(), 2u);
  EXPECT_EQ(diff.decisions[0].b, "mixed (1 full, 7 none)");
  EXPECT_EQ(diff.decisions[1].a, "2 x 4");
  EXPECT_EQ(diff.decisions[1].b, "3, 5");
}

TEST(PlanDiff, ListsMovedTensorsByPattern) {
  Plan a = tenSeconds(), b = tenSeconds();
  for (const char *layer : {"h.0.w", "h.1.w"}) {
    a.tensors[layer] = {{"dp", "replicate"}, {"tp", "shard(1)"}};
    b.tensors[layer] = {{"dp", "replicate"}, {"tp", "replicate"}};
  }
  b.tensors["head"] = {{"tp", "shard(0)"}};
  PlanDiff diff = diffPlans(a, b);
  ASSERT_EQ(diff.moved.size(), 3u);
  EXPECT_EQ(diff.moved[0].pattern, "h.*.w");
  EXPECT_EQ(diff.moved[0].count, 2);
  EXPECT_EQ(diff.moved[0].a, "shard(1)");
  EXPECT_EQ(diff.moved[1].pattern, "head");
  EXPECT_EQ(diff.moved[1].a, "absent");
}
