// Tests times of given orders: by hand, transfers, peaks, and orders that cannot run.
#include "compiler/search/pipeline/Timing.h"
#include "compiler/search/pipeline/BuildSchedule.h"
#include "test/unit/pipeline/PipelineTestSupport.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

constexpr auto forwardKind = PipelineTaskKind::Forward;
constexpr auto backwardKind = PipelineTaskKind::Backward;

PipelineTiming timingOf(const PipelineProblem &problem) {
  return *timeSchedule(*buildSchedule(problem), problem);
}

} // namespace

// Two stages with F 1 s, B 2 s and 0.5 s of transfer: F0 arrives at 1.5, and its gradient returns
// at 5.
TEST(TimeSchedule, ByHand) {
  auto problem =
      equalProblem(ScheduleKind::OneForwardOneBackward, 2, 1, 2, {1, 1, 1, 0.5, 0.5, 100, 0});
  PipelineTiming timing = timingOf(problem);
  EXPECT_EQ(timing.tasks[0][0].end, 1); // F0
  EXPECT_EQ(timing.tasks[1][0].start, 1.5);
  EXPECT_EQ(timing.tasks[1][1].end, 4.5); // B0
  EXPECT_EQ(timing.tasks[0][2].start, 5); // B0 of stage 0
  EXPECT_EQ(timing.tasks[1][2].start, 4.5);
  EXPECT_EQ(timing.tasks[1][3].end, 7.5);
  EXPECT_EQ(timing.makespan, 10);
  EXPECT_EQ(timing.stages[0].busySeconds, 6);
  EXPECT_EQ(timing.stages[0].innerIdleSeconds(), 4);
  EXPECT_DOUBLE_EQ(timing.bubbleFraction, 1 - 12.0 / 20);
  EXPECT_EQ(timing.stages[0].peakBytes, 200);
  EXPECT_EQ(timing.stages[1].peakBytes, 100);
}

// A transfer takes 3 s per forward of 1 s, so transfers follow one another.
TEST(TimeSchedule, TransfersOfOneChannelFollowOneAnother) {
  auto problem = equalProblem(ScheduleKind::GPipe, 2, 1, 3, {1, 0, 0, 3, 0});
  PipelineTiming timing = timingOf(problem);
  EXPECT_EQ(timing.tasks[1][0].start, 4);
  EXPECT_EQ(timing.tasks[1][1].start, 7);
  EXPECT_EQ(timing.tasks[1][2].start, 10);
}

// The turn of the V is on one stage, so nothing is sent.
TEST(TimeSchedule, SendsNothingWithinAStage) {
  auto problem = equalProblem(ScheduleKind::ZeroBubbleV, 2, 2, 1, {1, 1, 1, 10, 100});
  // F has 4 chunks and 2 transfers, and B the same. The W of chunk 0 is last.
  EXPECT_EQ(timingOf(problem).makespan, 4 + 2 * 10 + 4 + 2 * 100 + 1);
}

// F keeps 10 bytes for B, and B keeps 4 for W: stage 1 stashes one W while it does the next
// forward.
TEST(TimeSchedule, CountsStashesUntilTheirW) {
  auto problem = equalProblem(ScheduleKind::ZeroBubbleH1, 2, 1, 8, {1, 1, 1, 0, 0, 10, 4});
  PipelineTiming timing = timingOf(problem);
  EXPECT_EQ(timing.stages[0].peakBytes, 20);
  EXPECT_EQ(timing.stages[1].peakActivations, 1);
  EXPECT_EQ(timing.stages[1].peakPending, 2);
  EXPECT_EQ(timing.stages[1].peakBytes, 14);
}

TEST(TimeSchedule, NamesADeadlock) {
  auto problem = equalProblem(ScheduleKind::OneForwardOneBackward, 2, 1, 2, {1, 1, 1});
  PipelineSchedule schedule = *buildSchedule(problem);
  // Stage 0 needs the gradient of 0 before it sends 1, but stage 1 needs 1 first.
  schedule.order[0] = {
      {forwardKind, 0, 0}, {backwardKind, 0, 0}, {forwardKind, 0, 1}, {backwardKind, 0, 1}};
  schedule.order[1] = {
      {forwardKind, 1, 0}, {forwardKind, 1, 1}, {backwardKind, 1, 0}, {backwardKind, 1, 1}};
  EXPECT_EQ(timeSchedule(schedule, problem).error().message,
            "timing a pipeline: deadlock, stage 0 waits for ever for the input of B of micro-batch "
            "0 on chunk 0");
}

// The own forward comes first, even if its result goes elsewhere.
TEST(TimeSchedule, RefusesABackwardBeforeItsForward) {
  auto problem = equalProblem(ScheduleKind::OneForwardOneBackward, 1, 1, 1, {1, 1, 1});
  PipelineSchedule schedule;
  schedule.order = {{{backwardKind, 0, 0}, {forwardKind, 0, 0}}};
  EXPECT_FALSE(timeSchedule(schedule, problem).ok());
}

TEST(TimeSchedule, RefusesWrongTasks) {
  auto problem = equalProblem(ScheduleKind::OneForwardOneBackward, 2, 1, 1, {1, 1, 1});
  PipelineSchedule good = *buildSchedule(problem);
  PipelineSchedule bad = good;
  bad.order[0].pop_back();
  EXPECT_EQ(timeSchedule(bad, problem).error().message,
            "timing a pipeline: the schedule has 3 tasks, wanted 4");
  bad = good;
  bad.order[0][1] = bad.order[0][0];
  EXPECT_EQ(timeSchedule(bad, problem).error().message,
            "timing a pipeline: stage 0 has F of micro-batch 0 on chunk 0 twice");
  bad = good;
  bad.order[0][1].chunk = 1;
  EXPECT_EQ(timeSchedule(bad, problem).error().message,
            "timing a pipeline: stage 0 has B of micro-batch 0 on chunk 1, which is not one of its "
            "tasks");
  bad = good;
  bad.order[0][1].kind = PipelineTaskKind::BackwardInput;
  EXPECT_EQ(timeSchedule(bad, problem).error().message,
            "timing a '1f1b' pipeline: stage 0 has B of micro-batch 0 on chunk 0 with its weights' "
            "part apart, wanted joined");
  bad = good;
  bad.order.pop_back();
  EXPECT_FALSE(timeSchedule(bad, problem).ok());
}
