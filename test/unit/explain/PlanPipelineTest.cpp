// Tests the pipeline that a plan describes, and its simulation.
#include "compiler/show/explain/PlanPipeline.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

// Returns two stages of one layer each: forward 1 s, backward 2 s. A micro-batch keeps 100 bytes.
Plan twoStages(int64_t microBatches) {
  Plan plan;
  plan.decisions.pp = 2;
  plan.decisions.numMicroBatches = microBatches;
  for (int64_t layer : {0, 1}) {
    PlanStage stage;
    stage.firstLayer = stage.lastLayer = layer;
    stage.chunks = {{layer, layer}};
    stage.recompute = {"none"};
    stage.forwardSeconds = stage.backwardInputSeconds = stage.backwardWeightSeconds = 1;
    stage.keptBytes = 100;
    stage.inFlight = static_cast<double>(2 - layer);
    stage.memory.parameters = 1000;
    stage.memory.activations = (2 - layer) * 100;
    stage.chunkTimes = {{1, 1, 1, 100}};
    plan.stages.push_back(stage);
  }
  // 1F1B: all micro-batches go through the slowest stage, and one more through the other.
  plan.predicted.loopSeconds = 3 * static_cast<double>(microBatches + 1);
  plan.predicted.stepSeconds = plan.predicted.loopSeconds;
  return plan;
}

int64_t peakOf(const StepSimulation &step, size_t stage) {
  int64_t peak = 0;
  for (const TraceCounter::Sample &sample : step.memory[stage].samples)
    peak = std::max(peak, sample.value);
  return peak;
}

} // namespace

TEST(PlanPipeline, HasTheClosedFormOf1F1B) {
  SimulatedStep step = *compareWithSimulation(twoStages(4));
  EXPECT_DOUBLE_EQ(step.loopSeconds, 15);
  EXPECT_DOUBLE_EQ(step.stepSeconds, 15);
  EXPECT_DOUBLE_EQ(step.predictedLoopSeconds, 15);
  EXPECT_EQ(peakOf(step.simulation, 0), 1200);
  EXPECT_EQ(peakOf(step.simulation, 1), 1100);
}

// The second stage finishes its update while the first one still computes.
TEST(PlanPipeline, LetsAStageUpdateWhenItIsDone) {
  Plan plan = twoStages(4);
  plan.stages[0].gradientSeconds = 0.5;
  plan.stages[1].gradientSeconds = 1.25;
  plan.stages[0].optimizerSeconds = plan.stages[1].optimizerSeconds = 0.25;
  SimulatedStep step = *compareWithSimulation(plan);
  EXPECT_DOUBLE_EQ(step.loopSeconds, 15);
  EXPECT_DOUBLE_EQ(step.stepSeconds, 15 + 0.5 + 0.25);
  EXPECT_DOUBLE_EQ(step.gradientSeconds, 1.25);
}

// If gradients of weights are computed separately, the last stage holds what they read of a second
// micro-batch.
TEST(PlanPipeline, HoldsWhatIsKeptUntilTheGradientsOfWeights) {
  Plan plan = twoStages(4);
  plan.decisions.schedule = ScheduleKind::ZeroBubbleH1;
  plan.stages[1].inFlight = 2;
  plan.stages[1].memory.activations = 200;
  PipelineProblem problem = *pipelineOfPlan(plan);
  for (const ChunkTimes &chunk : problem.chunks) {
    EXPECT_EQ(chunk.activationBytes, 100);
    EXPECT_EQ(chunk.weightStashBytes, 100);
  }
}

// If a plan lists no times per chunk, its stages are divided by their layers.
TEST(PlanPipeline, DividesAStageByLayers) {
  Plan plan = twoStages(4);
  plan.decisions.schedule = ScheduleKind::Interleaved;
  plan.decisions.virtualStages = 2;
  plan.stages[0].chunks = {{0, 0}, {2, 4}};
  plan.stages[1].chunks = {{1, 1}, {5, 5}};
  for (PlanStage &stage : plan.stages)
    stage.chunkTimes.clear();
  PipelineProblem problem = *pipelineOfPlan(plan);
  ASSERT_EQ(problem.chunks.size(), 4u);
  EXPECT_DOUBLE_EQ(problem.chunks[0].forward, 0.25); // layer 0 of four
  EXPECT_DOUBLE_EQ(problem.chunks[1].forward, 0.5);
  EXPECT_DOUBLE_EQ(problem.chunks[2].forward, 0.75);
}

TEST(PlanPipeline, RefusesStagesThatDoNotAddUp) {
  Plan plan = twoStages(4);
  plan.stages.pop_back();
  EXPECT_EQ(pipelineOfPlan(plan).error().message,
            "ordering the plan's micro-batches: it has 1 stages, wanted pp = 2");
  plan = twoStages(4);
  plan.decisions.virtualStages = 2;
  EXPECT_EQ(
      pipelineOfPlan(plan).error().message,
      "ordering the plan's micro-batches: stage 0 has 1 runs of layers, wanted virtual_stages = 2");
  plan = twoStages(4);
  plan.stages[1].forwardSeconds = 0;
  EXPECT_EQ(pipelineOfPlan(plan).error().message,
            "ordering the plan's micro-batches: stage 1 has no 'forward_s'");
}
