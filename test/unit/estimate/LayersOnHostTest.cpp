// Layers whose activations are on the host, each figure computed by hand.
#include "compiler/price/estimate/StepBounds.h"
#include "test/unit/estimate/RoundLayers.h"

namespace dtc {
namespace {

constexpr double kCopyLatency = 20e-6; // HostOffload.cpp
constexpr size_t kNone = static_cast<size_t>(Recompute::None),
                 kSelective = static_cast<size_t>(Recompute::Selective);

// Four equal layers take 2 + 3 + 4 = 9 seconds a micro-batch and save 100 bytes, or 60 with half a
// second of selective recomputation. Copies reach 0.8 of the link's 25 bytes/s: 5 and 3 seconds.
class LayersOnHostTest : public RoundLayers {
protected:
  LayersOnHostTest() {
    topology.device.host = {1000, 1e12, 25};
    cells.hostRecomputes.set(kNone);
    request.memoryLimit = 350;
    d.layersOnHost = LayersOnHost::Some;
  }

  StepEstimate estimate() {
    StepEstimate step = RoundLayers::estimate(d);
    EXPECT_TRUE(!step.fits || mayFitWithin(model, d, request, step.stepSeconds));
    return step;
  }

  Decisions d;
};

// 407 bytes do not fit in 350. The first layer on the host saves 100 bytes and takes 2 x 100 for
// copies in flight; three layers leave 307. A copy takes 3 s longer than the forward pass beside
// it, and less than the 7 s of the backward pass.
TEST_F(LayersOnHostTest, AreAsFewAsFit) {
  StepEstimate step = estimate();
  const StageEstimate &stage = step.stages[0];
  EXPECT_TRUE(step.fits);
  EXPECT_EQ(stage.offloadedLayers, 3);
  EXPECT_EQ(stage.layersThat(Recompute::None), 4);
  EXPECT_DOUBLE_EQ(stage.memory.activations, 100);
  EXPECT_DOUBLE_EQ(stage.memory.temporaries, 7 + 200);
  EXPECT_DOUBLE_EQ(stage.keptPerMicroBatch, 100);
  EXPECT_DOUBLE_EQ(stage.keptOnHost, 300);
  EXPECT_DOUBLE_EQ(stage.hostBytes, 300);
  EXPECT_EQ(stage.chunkTimes[0].activationBytes, 100);
  EXPECT_DOUBLE_EQ(stage.forward, 8 + 3 * (3 + kCopyLatency));
  EXPECT_DOUBLE_EQ(stage.chunkTimes[0].forward, stage.forward);
  EXPECT_DOUBLE_EQ(stage.backwardInput, 12);
  EXPECT_DOUBLE_EQ(stage.exposedSeconds, 3 * (3 + kCopyLatency));
  EXPECT_DOUBLE_EQ(step.exposedHostSeconds, 3 * (3 + kCopyLatency));
  EXPECT_DOUBLE_EQ(step.computeSeconds, 36);
  EXPECT_DOUBLE_EQ(step.exposedCommSeconds(), step.exposedHostSeconds);
  request.memoryLimit = 407; // all fit
  EXPECT_EQ(estimate().stages[0].offloadedLayers, 0);
  request.memoryLimit = 207;
  EXPECT_EQ(estimate().stages[0].offloadedLayers, 4);
  request.memoryLimit = 206;
  EXPECT_FALSE(estimate().fits);
}

// All layers but one can be on the host, and the last of four layers keeps its 100 bytes.
TEST_F(LayersOnHostTest, MayHaveToLeaveOne) {
  cells.keepsALayer = true;
  request.memoryLimit = 307;
  EXPECT_EQ(estimate().stages[0].offloadedLayers, 3);
  request.memoryLimit = 306;
  EXPECT_FALSE(estimate().fits);
}

// Training may use 360 of the host's 400 bytes, and the optimizer's states take the rest.
TEST_F(LayersOnHostTest, NeedTheHostsMemory) {
  topology.device.host.memoryBytes = 400;
  EXPECT_TRUE(estimate().fits);
  model.blocks[0].denseParameters =
      1; // 16 bytes of each of four layers are on the host, 8 on the device.
  d.offloadOptimizer = true;
  request.memoryLimit = 350 + 4 * 8;
  EXPECT_FALSE(estimate().fits);
  topology.device.host.memoryBytes = 405; // 364 and a half
  StepEstimate step = estimate();
  EXPECT_TRUE(step.fits);
  EXPECT_DOUBLE_EQ(step.stages[0].hostBytes, 300 + 64);
  EXPECT_DOUBLE_EQ(step.stages[0].statesOnHost, 64);
  topology.device.host = {};
  EXPECT_FALSE(estimate().fits);
}

// Copies of half a second cost nothing, but 296 bytes hold no three layers beside the states:
// layers recompute, 2 s each.
TEST_F(LayersOnHostTest, LeaveTheHostToTheOptimizer) {
  topology.device.host = {400, 1e12, 250};
  cells.recomputeMixes = {{Recompute::None, Recompute::Full}};
  d.recomputeMost = Recompute::Full;
  request.memoryLimit = 350 + 4 * 8;
  model.blocks[0].denseParameters = 1;
  d.offloadOptimizer = true;
  StepEstimate step = estimate();
  EXPECT_TRUE(step.fits);
  EXPECT_EQ(step.stages[0].offloadedLayers, 0);
  EXPECT_EQ(step.stages[0].layersThat(Recompute::Full), 2);
  topology.device.host.memoryBytes = 405;
  EXPECT_EQ(estimate().stages[0].offloadedLayers, 3);
}

TEST_F(LayersOnHostTest, AreSpareForWhatMayFit) {
  model.allKept.fill(400);
  EXPECT_TRUE(mayFit(model, d, request));
  d.layersOnHost = LayersOnHost::All;
  EXPECT_TRUE(mayFit(model, d, request));
  d.layersOnHost = LayersOnHost::None;
  EXPECT_FALSE(mayFit(model, d, request));
}

TEST_F(LayersOnHostTest, AreAllWhereThatIsAsked) {
  d.layersOnHost = LayersOnHost::All;
  request.memoryLimit = 1e6;
  StepEstimate step = estimate();
  EXPECT_EQ(step.stages[0].offloadedLayers, 4);
  EXPECT_DOUBLE_EQ(step.stages[0].memory.total(), 207);
  EXPECT_DOUBLE_EQ(step.loopSeconds, 36 + 4 * (3 + kCopyLatency));
  EXPECT_NEAR(lowerBoundSeconds(model, d, request), step.loopSeconds, 1e-9);
  topology.device.host.memoryBytes = 444; // 399.6 of 400
  step = estimate();
  EXPECT_FALSE(step.fits);
  EXPECT_TRUE(step.hostIsShort);
}

// Selective recomputation frees 40 bytes of a layer in half a second, but 247 do not fit in 200.
// Then layers on the host save 60 bytes each, whose copies wait for one second only.
TEST_F(LayersOnHostTest, RecomputeAsTheOthersOfTheirStage) {
  cells.recomputeMixes = {{Recompute::None, Recompute::Selective}};
  cells.hostRecomputes.set(kSelective);
  d.recomputeMost = Recompute::Selective;
  const StageEstimate two = estimate().stages[0];
  EXPECT_EQ(two.layersThat(Recompute::Selective), 2);
  EXPECT_EQ(two.offloadedLayers, 0);
  request.memoryLimit = 200;
  const StageEstimate three = estimate().stages[0];
  EXPECT_EQ(three.layersThat(Recompute::Selective), 4);
  EXPECT_EQ(three.offloadedLayers, 3);
  EXPECT_DOUBLE_EQ(three.memory.total(), 60 + 7 + 120);
  EXPECT_DOUBLE_EQ(three.hostBytes, 180);
  EXPECT_DOUBLE_EQ(three.recomputeSeconds, 2);
  EXPECT_DOUBLE_EQ(three.hostSeconds, 3 * (1 + kCopyLatency));
  cells.hostRecomputes.reset(
      // The software does not support the combination: layers on the host recompute nothing, and
      // their buffers are too large.
      kSelective);
  EXPECT_FALSE(estimate().fits);
}

// Two micro-batches are alive on the first stage of two, one on the last. Gradients of weights that
// wait leave 3 seconds for the copies back.
TEST_F(LayersOnHostTest, AreOfEveryMicroBatchInFlight) {
  d.pp = 2;
  d.numMicroBatches = 4;
  request.memoryLimit = 250;
  StepEstimate step = estimate();
  EXPECT_EQ(step.stages[0].offloadedLayers + step.stages[1].offloadedLayers, 2);
  EXPECT_DOUBLE_EQ(step.stages[0].hostBytes,
                   2 * 100 * static_cast<double>(step.stages[0].offloadedLayers));
  d.layersOnHost = LayersOnHost::All;
  d.schedule = ScheduleKind::ZeroBubbleH1;
  step = estimate();
  EXPECT_DOUBLE_EQ(step.stages[0].backwardInput, 2 * (3 + 2 + kCopyLatency));
  // One of the two in flight has its inputs back for the gradients of weights.
  EXPECT_DOUBLE_EQ(step.stages[0].hostBytes, (2 - step.stages[0].stashed) * 200);
  EXPECT_DOUBLE_EQ(step.stages[0].memory.activations, step.stages[0].stashed * 200);
}

} // namespace
} // namespace dtc
