// Steps of pipelines: the same times as timeSchedule, tails, slowdown, memory, the trace.
#include "compiler/show/simulate/PipelineSimulation.h"
#include "compiler/search/pipeline/Timing.h"
#include "test/unit/pipeline/PipelineTestSupport.h"

#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace dtc;

namespace {

PipelineProblem twoStages() {
  return equalProblem(ScheduleKind::OneForwardOneBackward, 2, 1, 2, {1, 1, 1, 0.5, 0.5, 100, 0});
}

} // namespace

TEST(SimulateStep, EqualsTimeSchedule) {
  std::mt19937 random(21);
  for (ScheduleKind kind : allKinds)
    for (int round = 0; round < 40; ++round) {
      PipelineProblem problem = randomProblem(random, kind, 2, round % 2 ? 4 : 0.5);
      Result<StepSimulation> step = simulateStep(problem);
      ASSERT_TRUE(step.ok()) << step.error().text();
      EXPECT_NEAR(step->result.makespan, step->timing.makespan, 1e-9 * step->timing.makespan);
      EXPECT_NEAR(step->bubbleFraction, step->timing.bubbleFraction, 1e-9);
      int task = 0;
      for (int stage = 0; stage < problem.stages; ++stage) {
        for (const TaskTime &time : step->timing.tasks[stage]) {
          EXPECT_NEAR(step->result.tasks[task].start, time.start, 1e-9 * (1 + time.start));
          EXPECT_NEAR(step->result.tasks[task].end, time.end, 1e-9 * (1 + time.end));
          ++task;
        }
        int64_t peak = 0;
        for (const TraceCounter::Sample &sample : step->memory[stage].samples)
          peak = std::max(peak, sample.value);
        EXPECT_EQ(peak, step->timing.stages[stage].peakBytes);
        EXPECT_EQ(step->memory[stage].samples.back().value, 0);
      }
    }
}

// 10 s of pipeline; stage 1 is done 2.5 s before stage 0 with its part.
TEST(SimulateStep, AddsWhatComesAfterTheBackwards) {
  StepSettings settings;
  settings.tails = {{0.25, 1}, {5, 0}};
  settings.residentBytes = {1000, 2000};
  settings.stageNames = {"first", "second"};
  StepSimulation step = *simulateStep(twoStages(), settings);
  EXPECT_DOUBLE_EQ(step.timing.makespan, 10);
  EXPECT_DOUBLE_EQ(step.result.makespan, 12.5); // stage 1: 7.5 + 5
  EXPECT_EQ(step.simulation.allDevices()[1].name, "second");
  int64_t peak = 0;
  for (const TraceCounter::Sample &sample : step.memory[0].samples)
    peak = std::max(peak, sample.value);
  EXPECT_EQ(peak, 1200);
  EXPECT_EQ(step.memory[1].samples.front().value, 2000);
  EXPECT_EQ(step.memory[1].samples[1].value, 2100);
  EXPECT_EQ(step.memory[1].samples.back().value, 2000);
}

// Stage 0 computes F1 beside the transfer of F0: half of it at half the speed.
TEST(SimulateStep, SlowsComputationBesideTransfers) {
  PipelineProblem problem = equalProblem(ScheduleKind::GPipe, 2, 1, 2, {1, 0.5, 0.5, 0.5, 0});
  StepSettings settings;
  settings.computeSlowdown = 2;
  StepSimulation step = *simulateStep(problem, settings);
  EXPECT_DOUBLE_EQ(step.result.tasks[1].end, 2.25);
  EXPECT_DOUBLE_EQ(step.timing.tasks[0][1].end, 2);
}

TEST(SimulateStep, RefusesSettingsOfTheWrongLength) {
  StepSettings settings;
  settings.tails.resize(3);
  EXPECT_EQ(simulateStep(twoStages(), settings).error().message,
            "simulating a step: there are 3 tails, wanted one for each of the 2 stages, or none");
  PipelineProblem bad = twoStages();
  bad.stages = -1;
  EXPECT_FALSE(simulateStep(bad).ok());
}

TEST(SimulateStep, WritesATrace) {
  std::string text;
  llvm::raw_string_ostream out(text);
  writeStepTrace(out, *simulateStep(twoStages()));
  EXPECT_NE(text.find(R"("name":"send F1")"), std::string::npos);
  EXPECT_NE(text.find(R"("name":"memory")"), std::string::npos);
  EXPECT_TRUE(static_cast<bool>(llvm::expectedToOptional(llvm::json::parse(text))));
}
