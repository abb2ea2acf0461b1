// Tests plans in Megatron-Core's terms.
#include "ExportPlans.h"

#include "compiler/show/export/MegatronSettings.h"

#include "gtest/gtest.h"

using namespace dtc;
using namespace dtc::launch;

namespace {

Result<MegatronSettings> settingsOf(const Plan &plan, const SoftwareStack &stack) {
  PlanView view(plan, stack);
  return megatronSettings(view, megatronCapabilities("M", "megatron-core"));
}

Result<MegatronSettings> settingsOf(const Plan &plan) { return settingsOf(plan, plainStack()); }

// Sets full recomputation of the given number of first layers of each chunk.
void recompute(Plan &plan, std::vector<std::vector<std::string>> layers) {
  for (size_t stage = 0; stage < layers.size(); ++stage)
    plan.stages[stage].recompute = layers[stage];
  plan.decisions.recompute = Recompute::None;
  plan.decisions.recomputeMost = Recompute::Full;
}

} // namespace

// Even stages need no layout.
TEST(MegatronSettings, SaysWhatStagesHoldWhereTheyDiffer) {
  EXPECT_EQ(settingsOf(planOf({4, 4}))->layout, "");
  EXPECT_EQ(settingsOf(planOf({3, 5}))->layout, "E,t*3|t*5,L");
  EXPECT_EQ(settingsOf(planOf({1, 2, 2, 1}, 2))->layout, "E,t|t*2|t*2|t,L");
  EXPECT_EQ(settingsOf(planOf({1, 2, 2, 1}, 2))->virtualStages, 2);
  EXPECT_EQ(settingsOf(planOf({0, 3, 3, 0}))->layout, "E|t*3|t*3|L");
  EXPECT_EQ(settingsOf(planOf({0, 1, 1, 0}, 2))->layout, "E|t|t|L");
}

TEST(MegatronSettings, RecomputesBlocksOfTheFirstLayersOfEachChunk) {
  Plan plan = planOf({3, 3});
  recompute(plan, {{"full", "full", "none"}, {"full", "full", "none"}});
  Result<MegatronSettings> settings = settingsOf(plan);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->method, "block");
  EXPECT_EQ(settings->recomputedLayers, 2);
}

// A chunk with fewer layers recomputes all of them.
TEST(MegatronSettings, RecomputesWholeChunksThatAreSmallerThanTheBlock) {
  Plan plan = planOf({2, 4});
  recompute(plan, {{"full", "full"}, {"full", "full", "full", "none"}});
  Result<MegatronSettings> settings = settingsOf(plan);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->recomputedLayers, 3);
}

TEST(MegatronSettings, RefusesStagesThatRecomputeDifferently) {
  Plan plan = planOf({3, 3});
  recompute(plan, {{"full", "full", "none"}, {"full", "none", "none"}});
  Result<MegatronSettings> settings = settingsOf(plan);
  ASSERT_FALSE(settings);
  EXPECT_EQ(
      settings.error().message,
      "M has full recomputation of as many layers on each stage, and in each chunk, as on the "
      "others, and the plan has stages that differ in it; plan again with '--fix "
      "recompute=full', or with '--stack megatron-core'");
}

TEST(MegatronSettings, RefusesSelectiveRecomputationOfSomeLayers) {
  Plan plan = planOf({2});
  recompute(plan, {{"selective", "full"}});
  Result<MegatronSettings> settings = settingsOf(plan);
  ASSERT_FALSE(settings);
  EXPECT_EQ(
      settings.error().message.substr(0, 88),
      "M has selective recomputation of all layers or of none, and the plan has 1 of 2 layers w");
}

// transformer_config.py refuses the host for all layers, for pipelines and with recomputation.
TEST(MegatronSettings, HasFirstLayersOnTheHost) {
  Plan plan = planOf({4});
  EXPECT_EQ(settingsOf(plan)->offloadedLayers, 0);
  plan.decisions.layersOnHost = LayersOnHost::Some;
  plan.stages[0].offloadedLayers = 3;
  EXPECT_EQ(settingsOf(plan)->offloadedLayers, 3);
  auto refuses = [&](llvm::StringRef text) {
    Result<MegatronSettings> settings = settingsOf(plan);
    return !settings && llvm::StringRef(settings.error().message).contains(text);
  };
  Plan some = plan;
  plan.decisions.layersOnHost = LayersOnHost::All;
  EXPECT_TRUE(refuses("M has activations of all layers but one on the host at most"));
  plan = some;
  recompute(plan, {{"full", "full", "full", "full"}});
  EXPECT_TRUE(refuses("the plan has some layers on the host and recomputation"));
  plan = planOf({4, 4});
  plan.decisions.layersOnHost = LayersOnHost::Some;
  EXPECT_TRUE(refuses("the plan has some layers on the host and pp 2"));
}

// Megatron's own order needs a flag, and another one gets a note.
TEST(MegatronSettings, LaysPipelinesInsideData) {
  Plan plan = planOf({4, 4});
  EXPECT_FALSE(settingsOf(plan)->pipelineBeforeData);
  plan.decisions.order = {'t', 'c', 'p', 'd'};
  plan.stages[0].ranks = {0, 2};
  plan.stages[1].ranks = {1, 3};
  EXPECT_TRUE(settingsOf(plan)->pipelineBeforeData);
  EXPECT_TRUE(settingsOf(plan)->notes.empty());
  plan.decisions.order = {'p', 't', 'd', 'c'};
  EXPECT_TRUE(settingsOf(plan)->pipelineBeforeData);
}

// Whole experts have no tensor parallelism. Stages inside of replicas need as many copies of
// experts as of the rest, 8 / ep and 4.
TEST(MegatronSettings, SaysOverHowManyRanksAnExpertIsSplit) {
  Plan plan = planOf({4, 4});
  Decisions &d = plan.decisions;
  EXPECT_EQ(settingsOf(plan)->expertTensorRanks, 0);
  d.tp = 2;
  d.dp = 4;
  d.ep = 2;
  d.sequenceParallel = true;
  EXPECT_EQ(settingsOf(plan)->expertTensorRanks, 2);
  d.foldedExperts = true;
  EXPECT_EQ(settingsOf(plan)->expertTensorRanks, 1);
  d.order = {'t', 'c', 'p', 'd'};
  EXPECT_TRUE(settingsOf(plan)->pipelineBeforeData);
  d.ep = 4;
  EXPECT_FALSE(settingsOf(plan)->pipelineBeforeData);
  EXPECT_FALSE(settingsOf(plan)->notes.empty());
}

TEST(MegatronSettings, ShardsInInstancesOfTheDistributedOptimizer) {
  Plan plan = planOf({4});
  plan.decisions.dp = plan.devices = 8;
  plan.decisions.zeroGroup = 2;
  EXPECT_EQ(settingsOf(plan)->optimizerInstances, 4);
  EXPECT_TRUE(settingsOf(plan)->overlapsGather);
  plan.decisions.overlapGradients = false;
  EXPECT_FALSE(settingsOf(plan)->overlapsGather);
  plan.decisions.overlapGradients = true;
  plan.decisions.zero = 3;
  EXPECT_EQ(settingsOf(plan)->fsdpStrategy, "optim_grads_params");
  plan.decisions.zero = 2;
  EXPECT_EQ(settingsOf(plan)->fsdpStrategy, "optim_grads");
}

// Overlap or dispatch that a stack counts on needs TransformerEngine's buffers or DeepEP.
TEST(MegatronSettings, TakesWhatTheStackCountsOn) {
  Plan plan = planOf({4});
  Decisions &d = plan.decisions;
  d.tp = 2;
  d.dp = 4;
  d.ep = 2;
  d.sequenceParallel = true;
  SoftwareStack stack = plainStack();
  EXPECT_FALSE(settingsOf(plan, stack)->overlapsTensor);
  EXPECT_EQ(settingsOf(plan, stack)->dispatcher, "alltoall");
  stack.tpHidden = 0.5;
  stack.sendsTokensOnce = true;
  EXPECT_TRUE(settingsOf(plan, stack)->overlapsTensor);
  EXPECT_EQ(settingsOf(plan, stack)->dispatcher, "flex");
  plan.nodes = plan.devices; // the buffers do not reach from node to node
  EXPECT_FALSE(settingsOf(plan, stack)->overlapsTensor);
  EXPECT_TRUE(llvm::any_of(settingsOf(plan, stack)->notes, [](const std::string &note) {
    return llvm::StringRef(note).starts_with("ranks of tp are on several nodes");
  }));
  plan.nodes = 1;
  d.sequenceParallel = false;
  EXPECT_FALSE(settingsOf(plan, stack)); // experts under tp need it
}
