// Tests makespans: closed forms of the papers, bounds, and steady states that are skipped.
#include "compiler/search/pipeline/Makespan.h"
#include "compiler/search/pipeline/BuildSchedule.h"
#include "compiler/search/pipeline/LowerBound.h"
#include "compiler/search/pipeline/Timing.h"
#include "test/unit/pipeline/PipelineTestSupport.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace dtc;

namespace {

PipelineTiming timingOf(const PipelineProblem &problem) {
  return *timeSchedule(*buildSchedule(problem), problem);
}

} // namespace

TEST(Bubble, OfGPipeAndOneForwardOneBackward) {
  for (ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward})
    for (int p : {1, 2, 4, 7})
      for (int m : {1, 3, 8, 33}) {
        auto problem = equalProblem(kind, p, 1, m, {1, 1.25, 0.75});
        EXPECT_DOUBLE_EQ(timingOf(problem).makespan, (m + p - 1) * 3.0);
        EXPECT_NEAR(timingOf(problem).bubbleFraction, (p - 1.0) / (m + p - 1), 1e-12);
      }
}

TEST(Bubble, OfInterleaved) {
  for (int p : {1, 2, 4, 8})
    for (int v : {1, 2, 3, 5})
      for (int groups : {1, 2, 5}) {
        int m = p * groups;
        auto problem = equalProblem(ScheduleKind::Interleaved, p, v, m, {1, 1.25, 0.75});
        EXPECT_NEAR(timingOf(problem).bubbleFraction, (p - 1.0) / (v * m + p - 1), 1e-12);
      }
}

// The bubble is (p - 1) (F + B - W) for W no longer than F and B, which is a third of 1F1B's for
// equal ones.
TEST(Bubble, OfZeroBubbleH1) {
  for (int p : {1, 2, 4, 8})
    for (int m : {p, 2 * p, 4 * p + 1}) {
      auto problem = equalProblem(ScheduleKind::ZeroBubbleH1, p, 1, m, {1, 1, 1});
      EXPECT_EQ(timingOf(problem).makespan, m * 3 + (p - 1));
    }
}

// Only the skew of the starts is left: a chunk's forward per stage. Another micro-batch costs only
// its own work.
TEST(Bubble, OfZeroBubbleV) {
  for (int p : {1, 2, 3, 4, 8, 16})
    for (int m : {2 * p, 2 * p + 1, 5 * p}) {
      auto problem = equalProblem(ScheduleKind::ZeroBubbleV, p, 2, m, {1, 1, 1});
      EXPECT_EQ(timingOf(problem).makespan, m * 6 + (p - 1)) << p << " " << m;
    }
}

// (p - 1) (F + B - 2 W) is left of each stage's waiting, and the last stage starts (p - 1) F late.
TEST(Bubble, OfZeroBubble2P) {
  for (int p : {1, 2, 4, 8})
    for (double backward : {1.0, 1.5, 2.5}) {
      auto problem = equalProblem(ScheduleKind::ZeroBubble2P, p, 1, 4 * p, {1, backward, 0.75});
      double fill = std::max(1.0, 1 + backward - 2 * 0.75);
      EXPECT_NEAR(timingOf(problem).makespan, 4 * p * (1.75 + backward) + (p - 1) * fill, 1e-9)
          << p << " " << backward;
    }
}

// The peaks are a half and two thirds of 1F1B's p - 1 micro-batches of 6 tasks, up to the position
// of the block.
TEST(Bubble, OfVHalfAndVMin) {
  for (int p : {2, 3, 4, 5, 6, 8, 12, 16})
    for (int m : {2 * p, 5 * p}) {
      auto problem = equalProblem(ScheduleKind::VHalf, p, 2, m, {1, 1, 1});
      EXPECT_LE(timingOf(problem).makespan, m * 6 + 3 * p) << p << " " << m;
      problem.kind = ScheduleKind::VMin;
      EXPECT_LE(timingOf(problem).makespan, m * 6 + 4 * p) << p << " " << m;
    }
}

TEST(Makespan, IsAboveItsLowerBound) {
  std::mt19937 random(4);
  for (ScheduleKind kind : allKinds)
    for (int round = 0; round < 300; ++round) {
      PipelineProblem problem = randomProblem(random, kind, 3);
      double bound = makespanLowerBound(problem);
      EXPECT_GE(timingOf(problem).makespan, bound - 1e-9) << toString(kind).str() << " " << round;
    }
}

// The bound includes the bubbles of equal chunks.
TEST(Makespan, EqualsItsLowerBoundWhereAllIsEqual) {
  for (int p : {1, 2, 4, 8})
    for (auto [kind, chunks] : {std::pair{ScheduleKind::GPipe, 1},
                                {ScheduleKind::OneForwardOneBackward, 1},
                                {ScheduleKind::Interleaved, 3},
                                {ScheduleKind::ZeroBubbleH1, 1},
                                {ScheduleKind::ZeroBubble2P, 1},
                                {ScheduleKind::ZeroBubbleV, 2}}) {
      auto problem = equalProblem(kind, p, chunks, 4 * p, {1, 1, 1});
      EXPECT_DOUBLE_EQ(makespanLowerBound(problem), timingOf(problem).makespan)
          << toString(kind).str() << " " << p;
    }
}

// Tasks are unequal, as in measurements: F, B and W of 1, 1.1 and 0.8, transfers of 0.05. A
// schedule that lets early micro-batches take all the memory would leave stages idle for whole
// round trips.
TEST(Makespan, OfZeroBubbleVStaysNearItsWorkForUnequalTasks) {
  for (int p : {4, 8, 16}) {
    auto problem = equalProblem(ScheduleKind::ZeroBubbleV, p, 2, 16 * p, {1, 1.1, 0.8, 0.05, 0.05});
    double work = 16 * p * 2 * 2.9;
    EXPECT_LT(timingOf(problem).makespan, 1.06 * work) << p;
  }
}

// Both have the same work and the same micro-batches in flight.
TEST(Makespan, OfZeroBubbleH1IsNoWorseThanThatOfOneForwardOneBackward) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    PipelineProblem problem = randomProblem(random, ScheduleKind::ZeroBubbleH1, 2);
    double split = timingOf(problem).makespan;
    problem.kind = ScheduleKind::OneForwardOneBackward;
    EXPECT_LE(split, timingOf(problem).makespan * (1 + 1e-9)) << round;
  }
}

TEST(ClosedFormMakespan, EqualsTheSimulation) {
  std::mt19937 random(6);
  for (int round = 0; round < 200; ++round) {
    PipelineProblem problem = randomProblem(random, ScheduleKind::GPipe, 3, 4);
    ASSERT_TRUE(closedFormMakespan(problem).has_value());
    EXPECT_NEAR(*closedFormMakespan(problem), timingOf(problem).makespan, 1e-9);
  }
  for (int p : {1, 2, 5, 8})
    for (int v : {1, 2, 4}) {
      auto problem = equalProblem(ScheduleKind::Interleaved, p, v, 3 * p, {0.3, 0.2, 0.7});
      EXPECT_NEAR(*closedFormMakespan(problem), timingOf(problem).makespan, 1e-9);
    }
}

TEST(ClosedFormMakespan, IsAbsentWhereThereIsNone) {
  auto problem = equalProblem(ScheduleKind::OneForwardOneBackward, 3, 1, 8, {1, 1, 1});
  EXPECT_EQ(closedFormMakespan(problem), 30);
  problem.chunks[1].forward = 2;
  EXPECT_FALSE(closedFormMakespan(problem).has_value());
  problem = equalProblem(ScheduleKind::OneForwardOneBackward, 3, 1, 8, {1, 1, 1, 0.1});
  EXPECT_FALSE(closedFormMakespan(problem).has_value());
  problem = equalProblem(ScheduleKind::Interleaved, 3, 2, 8, {1, 1, 1});
  EXPECT_FALSE(closedFormMakespan(problem).has_value());
  problem = equalProblem(ScheduleKind::ZeroBubbleH1, 3, 1, 8, {1, 1, 1});
  EXPECT_FALSE(closedFormMakespan(problem).has_value());
}

// Stages are unequal, transfers slow, groups not full, micro-batches few and many.
TEST(PipelineMakespan, EqualsTheSimulation) {
  std::mt19937 random(7);
  for (ScheduleKind kind : allKinds)
    for (int round = 0; round < 120; ++round) {
      double spread = round % 3 == 0 ? 0.01 : 2, send = round % 4 == 0 ? 8 : 0.5;
      PipelineProblem problem = randomProblem(random, kind, spread, send);
      if (round % 2)
        problem.microBatches = std::uniform_int_distribution<int>(100, 900)(random);
      double exact = timingOf(problem).makespan;
      EXPECT_NEAR(*pipelineMakespan(problem), exact, 1e-9 * exact) << toString(kind).str();
    }
}

// Stages of plans are equal except for the first and the last, so they repeat themselves soon.
TEST(PipelineMakespan, OfUsualStagesEqualsTheSimulation) {
  for (ScheduleKind kind : allKinds)
    for (int p : {2, 4, 16})
      for (int m : {6 * p, 32 * p + 3, 700}) {
        auto problem = equalProblem(kind, p, 4, m, {1, 1.1, 0.8, 0.05, 0.05});
        problem.chunks.front().forward = 1.07;
        problem.chunks.back() = {1.21, 1.3, 0.9, 0.05, 0.05};
        double exact = timingOf(problem).makespan;
        EXPECT_NEAR(*pipelineMakespan(problem), exact, 1e-9 * exact) << toString(kind).str();
      }
}

// The queue of a channel grows slowly: the stages repeat themselves long before it delays them.
TEST(PipelineMakespan, SeesAQueueThatGrows) {
  auto problem = equalProblem(ScheduleKind::OneForwardOneBackward, 6, 1, 2000, {1, 1, 1});
  problem.chunks[2].sendForward = 3.01;
  double exact = timingOf(problem).makespan;
  EXPECT_NEAR(*pipelineMakespan(problem), exact, 1e-9 * exact);
}

TEST(PipelineMakespan, KeepsToTheMemoryCap) {
  auto problem = equalProblem(ScheduleKind::OneForwardOneBackward, 4, 1, 50, {1, 1, 1, 0, 0, 10});
  double free = *pipelineMakespan(problem);
  problem.memoryCap = {40, 30, 20, 10};
  EXPECT_EQ(*pipelineMakespan(problem), free);
  problem.memoryCap = {20, 20, 20, 10};
  EXPECT_EQ(*pipelineMakespan(problem), timingOf(problem).makespan);
  EXPECT_GT(*pipelineMakespan(problem), free);
  problem.memoryCap = {20, 20, 20, 9};
  EXPECT_FALSE(pipelineMakespan(problem).ok());
}

TEST(PipelineMakespan, OfALargeStepIsQuick) {
  auto start = std::chrono::steady_clock::now();
  auto problem = equalProblem(ScheduleKind::Interleaved, 16, 8, 1536, {1, 1, 1, 0.1, 0.1});
  problem.chunks[3].forward = 1.5;
  PipelineTiming timing = timingOf(problem);
  EXPECT_NEAR(*pipelineMakespan(problem), timing.makespan, 1e-9 * timing.makespan);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT(seconds, 5); // 0.03 s in a release build on an idle machine
}
