// Bounds of steps whose blocks have round numbers, each computed by hand.
#include "compiler/price/estimate/StageFit.h"
#include "compiler/price/estimate/StepBounds.h"
#include "compiler/price/estimate/StepEstimate.h"
#include "test/unit/estimate/RoundLayers.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

using StepBoundsByHand = RoundLayers;

// 36 s of layers on two stages with four micro-batches take at least 4 x 36 / 2 and half a layer of
// the way; with one chunk a stage at least 36 / (1 - (3/4)^2). Split backward passes start the way
// up before weights: half of 2 s.
TEST_F(StepBoundsByHand, BoundsTheLoopFromBelow) {
  auto bound = [&](ScheduleKind kind, int64_t virtualStages) {
    Decisions d = pipeline(kind, virtualStages, 4);
    model.groups = groupsOf(d);
    return lowerBoundSeconds(model, d, request);
  };
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::Interleaved, 2), 72 + 9 / 2.0);
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::OneForwardOneBackward, 1), 36 / (1 - 9 / 16.0));
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::ZeroBubbleV, 2), 72 + 2 / 2.0);
  // For ZB-H1 stages of x and y s: 4 x = 4 y + 2 / 9 x, so that y is 17 / 18 x.
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::ZeroBubbleH1, 1), 4 * 36 / (1 + 17 / 18.0));
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::ZeroBubble2P, 1), 4 * 36 / (1 + 17 / 18.0));
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::VHalf, 2), 72 + 2 / 2.0);
  // A stage has three of five layers.
  cells.chain.push_back(0);
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::ZeroBubbleV, 2), 4 * 3 * 9);
}

// The mean stage of two holds 2 of 4 layers and 4 + 4 + 8 bytes of 100 parameters each, divided as
// ZeRO does, beside 50 bytes reserved.
TEST_F(StepBoundsByHand, MayFitWhereTheMeanStageDoes) {
  layer().denseParameters = 60;
  layer().expertParameters = 40;
  cells.process.reserved = 50;
  auto least = [&](const Decisions &d) {
    estimate(d); // counts parameters
    for (request.memoryLimit = 1; !mayFit(model, d, request);)
      ++request.memoryLimit;
    return request.memoryLimit;
  };
  Decisions d = pipeline(ScheduleKind::OneForwardOneBackward, 1, 4);
  EXPECT_EQ(least(d), 50 + 2 * 16 * 100);
  d.dp = 4;
  d.ep = 2;
  d.zero = 1; // 60 / 4 and 40 / 2 are 35
  EXPECT_EQ(least(d), 50 + 2 * (8 * 100 + 8 * 35));
  d.zero = 2;
  EXPECT_EQ(least(d), 50 + 2 * (4 * 100 + 12 * 35));
  d.zero = 3;
  EXPECT_EQ(least(d), 50 + 2 * 16 * 35);
  // Parameters that are cast as they are gathered have no stored copy: 4 bytes of gradient, 12 of
  // master copy and states in 16 bits.
  SoftwareStack casting = ownStack();
  casting.castsGathered = true;
  CellPrecision whole = request.precision;
  request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, casting);
  EXPECT_EQ(least(d), 50 + 2 * 16 * 35);
  request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, ownStack());
  EXPECT_EQ(least(d), 50 + 2 * 18 * 35);
  request.precision = whole;
  d.offloadOptimizer = true;
  EXPECT_EQ(least(d), 50 + 2 * 8 * 35);
}

// Two stages of two layers with a hundred micro-batches take 100 x 18 s and a layer's 9 s on the
// way to the second one.
TEST_F(StepBoundsByHand, LeavesOutWhatIsTooSlowOnceItFits) {
  Decisions d = pipeline(ScheduleKind::OneForwardOneBackward, 1, 100);
  auto expectLeast = [&](double seconds) {
    estimate(d); // counts parameters
    EXPECT_TRUE(mayFitWithin(model, d, request, seconds * (1 + 1e-7)));
    EXPECT_FALSE(mayFitWithin(model, d, request, seconds * (1 - 1e-7)));
  };
  expectLeast(1809);
  // The transient leaves 293 of 300 bytes. Two micro-batches of two layers are 400, of which a
  // layer frees 2 x 40 in half a second; with full recomputation it frees 2 x 90 in 2 s, and needs
  // 90 more while it is computed again.
  request.memoryLimit = 300;
  d.recomputeMost = Recompute::Selective;
  expectLeast(100 * (18 + 107 / 80.0 * 0.5));
  d.recomputeMost = Recompute::Full;
  expectLeast(100 * (18 + 197 / 180.0 * 2));
  // Not even one layer fits.
  request.memoryLimit = 100;
  d.recomputeMost = Recompute::Selective;
  EXPECT_FALSE(mayFitWithin(model, d, request, 1e9));
  d.recomputeMost = Recompute::Full;
  EXPECT_FALSE(mayFitWithin(model, d, request, 1e9));
  // The mean stage updates two layers' parameters, 32 bytes of each.
  request.memoryLimit = 1e18;
  layer().denseParameters = 1e12;
  expectLeast(1809 + updateSeconds(32 * 2e12));
}

} // namespace
} // namespace dtc
