// Tests the bounds that a schedule's step gives for equivalent schedules.
#include "compiler/search/planner/EquivalentSchedules.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

// Four stages of one chunk, or of two, whose tasks all take 1 s; half a second follows the
// pipeline.
struct Step : testing::Test {
  void set(ScheduleKind kind, int64_t virtualStages) {
    d.pp = 4;
    d.schedule = kind;
    d.virtualStages = virtualStages;
    d.numMicroBatches = 8;
    step = {};
    for (int stage = 0; stage < 4; ++stage) {
      StageEstimate &each = step.stages.emplace_back();
      each.chunkTimes.assign(static_cast<size_t>(virtualStages), {1, 1, 1});
      each.forward = each.backwardInput = each.backwardWeight = static_cast<double>(virtualStages);
    }
    step.leastSlowestSeconds = 3 * static_cast<double>(virtualStages);
    step.loopSeconds = 70;
    step.stepSeconds = 70.5;
  }

  double leastAs(ScheduleKind kind) {
    Decisions other = d;
    other.schedule = kind;
    EquivalentSchedules equivalent;
    equivalent.note(d, step);
    return equivalent.leastOf(other);
  }

  Decisions d;
  StepEstimate step;
};

// Eight micro-batches are 48 s of work on each stage. The last one's first backward comes 2 p = 8
// forwards and 3 backwards after the start, and no more forwards come before it than chunks may be
// alive.
TEST_F(Step, BoundsVHalfAndVMinByZbV) {
  set(ScheduleKind::ZeroBubbleV, 2);
  d.recomputeMost = Recompute::Full;
  EXPECT_DOUBLE_EQ(leastAs(ScheduleKind::VHalf), 48 + (8 + 3 - 6) + 0.5);
  EXPECT_DOUBLE_EQ(leastAs(ScheduleKind::VMin), 48 + (8 + 3 - 4) + 0.5);
  EXPECT_EQ(leastAs(ScheduleKind::ZeroBubble2P), 0);
  EXPECT_EQ(leastAs(ScheduleKind::ZeroBubbleV), 0);
}

// V-Min fits without recomputation that ZB-V needs if V-Half does.
TEST_F(Step, BoundsVMinByVHalfToo) {
  set(ScheduleKind::VHalf, 2);
  d.recomputeMost = Recompute::Full;
  EXPECT_DOUBLE_EQ(leastAs(ScheduleKind::VMin), 48 + (8 + 3 - 4) + 0.5);
  EXPECT_EQ(leastAs(ScheduleKind::VHalf), 0);
}

// Bounds are kept for every combination of the details in which decisions of a mesh differ; the
// larger of two bounds counts.
TEST_F(Step, KeepsTheLargestBoundOfEachDetail) {
  EquivalentSchedules equivalent;
  Decisions v;
  v.schedule = ScheduleKind::ZeroBubbleV;
  equivalent.noteBound(v, 3);
  equivalent.noteBound(v, 2);
  v.schedule = ScheduleKind::VHalf;
  EXPECT_EQ(equivalent.leastOf(v), 3);
  for (auto change :
       {+[](Decisions &d) { d.zero = 1; }, +[](Decisions &d) { d.offloadOptimizer = true; },
        +[](Decisions &d) { d.recompute = Recompute::Full; },
        +[](Decisions &d) { d.recomputeMost = Recompute::Full; }}) {
    Decisions other = v;
    change(other);
    EXPECT_EQ(equivalent.leastOf(other), 0);
  }
  equivalent.clear();
  EXPECT_EQ(equivalent.leastOf(v), 0);
}

// A layer that has to recompute with ZB-V's memory need not with theirs: 8 x (6 + 3 - 3) s are
// left.
TEST_F(Step, DoesNotCountOnRecomputation) {
  set(ScheduleKind::ZeroBubbleV, 2);
  d.recomputeMost = Recompute::Full;
  step.stages[1].layersBy[static_cast<size_t>(Recompute::Full)] = 1;
  step.stages[1].recomputeSeconds = 3;
  step.stages[1].backwardInput += 3;
  step.stages[1].chunkTimes[0].backwardInput += 3;
  EXPECT_NEAR(leastAs(ScheduleKind::VHalf), 48, 1e-6);
  EXPECT_LE(leastAs(ScheduleKind::VHalf), 48);
  // A layer on the host need not be there either.
  step.stages[1].layersBy[static_cast<size_t>(Recompute::Full)] = 0;
  step.stages[1].offloadedLayers = 1;
  d.recomputeMost = Recompute::None;
  d.layersOnHost = LayersOnHost::Some;
  EXPECT_NEAR(leastAs(ScheduleKind::VHalf), 48, 1e-6);
  d.layersOnHost = LayersOnHost::None;
  d.recomputeMost = Recompute::Full;
  step.stages[1].layersBy[static_cast<size_t>(Recompute::Full)] = 1;
  // Recomputation that all layers do in any case is not saved.
  d.recompute = Recompute::Full;
  EXPECT_GT(leastAs(ScheduleKind::VHalf), 8 * 9);
}

// There are 3 s of forwards before the last stage's 24 s. For cuts by memory it is only known that
// some stage has 24 s.
TEST_F(Step, BoundsZb2pByH1) {
  set(ScheduleKind::ZeroBubbleH1, 1);
  EXPECT_DOUBLE_EQ(leastAs(ScheduleKind::ZeroBubble2P), 24 + 3 + 0.5);
  d.recomputeMost = Recompute::Full;
  EXPECT_NEAR(leastAs(ScheduleKind::ZeroBubble2P), 24, 1e-6);
  step.isCutByMemory = true; // A bound of any cut holds for this one too.
  EXPECT_NEAR(leastAs(ScheduleKind::ZeroBubble2P), 24, 1e-6);
  EXPECT_EQ(leastAs(ScheduleKind::VHalf), 0);
}

} // namespace
