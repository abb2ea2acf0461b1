// Tests the event simulation, on pipelines that can be drawn by hand.
#include "test/unit/planner/EventSimulation.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

PipelineProblem pipeline(ScheduleKind kind, int stages, int virtualStages, int microBatches) {
  PipelineProblem problem;
  problem.kind = kind;
  problem.stages = stages;
  problem.virtualStages = virtualStages;
  problem.microBatches = microBatches;
  problem.chunks.assign(static_cast<size_t>(stages) * static_cast<size_t>(virtualStages),
                        {/*forward=*/1, /*backwardInput=*/1, /*backwardWeight=*/1});
  return problem;
}

TEST(EventSimulation, HasTheExampleOfItsHeader) {
  EXPECT_EQ(simulatedSeconds(pipeline(ScheduleKind::OneForwardOneBackward, 2, 1, 3)), 12);
  EXPECT_EQ(simulatedSeconds(pipeline(ScheduleKind::GPipe, 2, 1, 3)), 12);
}

// Turns take 3 s: one for each chunk of each micro-batch, and one for each stage after the first.
TEST(EventSimulation, Interleaves) {
  EXPECT_EQ(simulatedSeconds(pipeline(ScheduleKind::Interleaved, 2, 2, 4)), 27);
  // A last group of one micro-batch leaves the second stage idle for a while.
  EXPECT_GT(simulatedSeconds(pipeline(ScheduleKind::Interleaved, 2, 2, 3)), 21);
}

// Gradients of weights wait under H1: 2 micro-batches are 6 s of work on each stage, and the second
// stage starts a second later.
TEST(EventSimulation, PutsGradientsOfWeightsIntoBubbles) {
  EXPECT_EQ(simulatedSeconds(pipeline(ScheduleKind::ZeroBubbleH1, 2, 1, 2)), 7);
  EXPECT_EQ(simulatedSeconds(pipeline(ScheduleKind::ZeroBubble2P, 2, 1, 3)), 10);
  EXPECT_EQ(simulatedSeconds(pipeline(ScheduleKind::VHalf, 2, 2, 2)), 13);
}

TEST(EventSimulation, SendsOneMessageAfterAnother) {
  PipelineProblem problem = pipeline(ScheduleKind::OneForwardOneBackward, 2, 1, 3);
  addSendSeconds(problem, 0.5, {});
  EXPECT_EQ(problem.chunks[0].sendForward, 0.5);
  EXPECT_EQ(problem.chunks[1].sendBackward, 0.5);
  EXPECT_EQ(simulatedSeconds(problem), 14);
  // Tasks take 3 s each: the third activation arrives after 10 s, its gradient 3 s after its
  // backward.
  problem = pipeline(ScheduleKind::GPipe, 2, 1, 3);
  addSendSeconds(problem, 1, {3});
  EXPECT_EQ(simulatedSeconds(problem), 1 + 3 * 3 + 1 + 2 + 3 * 3 + 2);
}

} // namespace
} // namespace dtc
