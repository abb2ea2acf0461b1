// Seconds and bytes of steps whose blocks have round numbers, each computed by hand.
#include "compiler/decide/decisions/RecomputeMixes.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/price/estimate/GradientCollectives.h"
#include "compiler/price/estimate/HostOffload.h"
#include "compiler/price/estimate/StageFit.h"
#include "compiler/price/estimate/StepBounds.h"
#include "compiler/price/estimate/StepEstimate.h"
#include "test/unit/estimate/RoundLayers.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

using StepByHand = RoundLayers;

// The loop takes m micro-batches of the slowest stage's 18 s, and the fill: (p - 1) = 1 stage's 18
// s, divided by v with v virtual stages.
TEST_F(StepByHand, FillsGPipeAnd1F1B) {
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::GPipe, 1, 4)).loopSeconds, 4 * 18 + 18);
  StepEstimate step = estimate(pipeline(ScheduleKind::OneForwardOneBackward, 1, 4));
  EXPECT_DOUBLE_EQ(step.loopSeconds, 4 * 18 + 18);
  EXPECT_DOUBLE_EQ(step.stepSeconds, 90); // No gradients are reduced and nothing is updated.
  EXPECT_DOUBLE_EQ(step.bubbleSeconds, 18);
  EXPECT_DOUBLE_EQ(step.computeSeconds, 4 * 18);
}

// Passes take 3 + 1 + 1 = 5 s over a stage's share for each of 4 micro-batches. Collectives take 2
// s once, and a tenth of that where they slow compute. Each barrier keeps one more micro-batch
// alive, and all stages hold a share of 20 parameters.
TEST_F(StepByHand, StopsForSharesOfTheVocabulary) {
  Decisions d = pipeline(ScheduleKind::OneForwardOneBackward, 1, 4);
  cells.overlap.slowdown = 1.1;
  // times of a stage that has the whole vocabulary
  model.embedding.forward = model.head.forward = 50;
  model.embedding.denseParameters = model.head.denseParameters = 400;
  model.vocabulary.emplace();
  model.vocabulary->share.forward = 3;
  model.vocabulary->share.backwardInput = model.vocabulary->share.backwardWeight = 1;
  model.vocabulary->share.denseParameters = 20;
  model.vocabulary->share.kept = 1000;
  model.vocabulary->share.transient = 70;
  model.vocabulary->head.kept = 30;
  model.vocabulary->collectives = 2;
  double perMicroBatch = 5 + 0.1 * 2;
  for (int64_t algorithm : {1, 2}) {
    d.vocabOverPp = algorithm;
    double more = algorithm == 1 ? 2 : 1;
    StepEstimate step = estimate(d);
    EXPECT_DOUBLE_EQ(step.vocabularySeconds, 4 * perMicroBatch + 2);
    EXPECT_DOUBLE_EQ(step.loopSeconds, 4 * 18 + 18 + 4 * perMicroBatch + 2);
    EXPECT_DOUBLE_EQ(step.bubbleSeconds, 18 + 2);
    EXPECT_DOUBLE_EQ(step.computeSeconds, 4 * (18 + perMicroBatch));
    // This holds for any cut of the layers: their 36 s over 1 - (1 - 1 / m)^p.
    EXPECT_NEAR(lowerBoundSeconds(model, d, request),
                36 / (1 - 0.75 * 0.75) + 4 * perMicroBatch + 2, 1e-6);
    for (size_t stage : {0, 1}) {
      const StageEstimate &each = step.stages[stage];
      EXPECT_EQ(each.inFlight, 2 - static_cast<double>(stage) + more);
      EXPECT_EQ(each.memory.parameters, 20 * 4);
      EXPECT_EQ(each.memory.optimizer, 20 * 8);
      EXPECT_EQ(each.memory.temporaries, 70);
      EXPECT_EQ(each.memory.activations, each.inFlight * 200 + 1000 + (stage == 1 ? 30 : 0));
    }
    refineBySchedule(step, d);
    EXPECT_DOUBLE_EQ(step.loopSeconds, 4 * 18 + 18 + 4 * perMicroBatch + 2);
  }
  d.numMicroBatches = 2; // There are only two micro-batches to be alive.
  EXPECT_EQ(estimate(d).stages.front().inFlight, 2);
  model.vocabulary->collectives = 50; // longer than the 18 + 5 + 5 s that a micro-batch computes
  EXPECT_DOUBLE_EQ(estimate(d).vocabularySeconds, 2 * 10 + 50 + 2 * (50 - 28));
}

// The slowest of stages of 4 + 18 and 18 s takes 22 s a micro-batch, and the other one's 18 s are
// halved.
TEST_F(StepByHand, FillsInterleavedByItsVirtualStages) {
  Decisions d = pipeline(ScheduleKind::Interleaved, 2, 4);
  EXPECT_DOUBLE_EQ(estimate(d).loopSeconds, 4 * 18 + 18 / 2.0);
  model.embedding.forward = 4;
  EXPECT_DOUBLE_EQ(estimate(d).loopSeconds, 4 * 22 + 18 / 2.0);
}

// Each stage waits for forward and the input's gradient, less the gradients of weights that fill
// the gap. Two layers of 2 + 5 + 1 s give 4 + 10 - 2 = 12 s, of which (p - 1) / p is left.
TEST_F(StepByHand, FillsZeroBubbleH1ByWhatWeightsLeave) {
  layer().backwardInput = 5;
  layer().backwardWeight = 1;
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::ZeroBubbleH1, 1, 4)).loopSeconds,
                   4 * 16 + 2 * 12 * (1 / 2.0));
}

// Gradients of weights fill the gap twice if more forwards come before the first backward: 4 + 10 -
// 2 x 2 s. But the last stage waits for the forwards before it, 4 s, and three forwards fill all
// but 10 - 4 s until B.
TEST_F(StepByHand, FillsZeroBubble2PByTwiceWhatWeightsLeave) {
  layer().backwardInput = 5;
  layer().backwardWeight = 1;
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::ZeroBubble2P, 1, 4)).loopSeconds,
                   4 * 16 + 2 * 10 * (1 / 2.0));
  layer().backwardWeight = 5;
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::ZeroBubble2P, 1, 4)).loopSeconds,
                   4 * 24 + 2 * 6 * (1 / 2.0));
  layer().backwardInput = 3;
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::ZeroBubble2P, 1, 4)).loopSeconds,
                   4 * 20 + 2 * 4 * (1 / 2.0));
}

// The fills are a half and two thirds of 1F1B's 18 s.
TEST_F(StepByHand, FillsVHalfAndVMinByTheirShares) {
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::VHalf, 2, 4)).loopSeconds, 4 * 18 + 9);
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::VMin, 2, 4)).loopSeconds, 4 * 18 + 12);
}

// A stage of two layers keeps 200 bytes of a micro-batch from F to the end of W: for two
// micro-batches on both stages, with ZB-2p for three. The 180 bytes that recomputation frees until
// B are needed between B and W.
TEST_F(StepByHand, KeepsWhatGradientsOfWeightsReadUntilTheyAreMade) {
  auto bytes = [&](const Decisions &d, size_t stage) {
    return estimate(d).stages[stage].memory.activations;
  };
  Decisions h1 = pipeline(ScheduleKind::ZeroBubbleH1, 1, 4),
            twice = pipeline(ScheduleKind::ZeroBubble2P, 1, 4),
            plain = pipeline(ScheduleKind::OneForwardOneBackward, 1, 4);
  EXPECT_EQ(bytes(plain, 1), 200);
  EXPECT_EQ(bytes(h1, 0), 2 * 200);
  EXPECT_EQ(bytes(h1, 1), 2 * 200);
  EXPECT_EQ(bytes(twice, 0), 3 * 200);
  EXPECT_EQ(bytes(twice, 1), 3 * 200);
  for (Decisions *d : {&h1, &twice, &plain})
    d->recompute = d->recomputeMost = Recompute::Full;
  EXPECT_EQ(bytes(plain, 1), 20);
  EXPECT_EQ(bytes(h1, 0), 2 * 20 + 180);
  EXPECT_EQ(bytes(h1, 1), 2 * 200);
  EXPECT_EQ(bytes(twice, 0), 3 * 20 + 180);
  EXPECT_EQ(bytes(twice, 1), 3 * 200);
  // Layers recompute until 350 bytes are enough, of which 7 + 90 belong to the layer that is being
  // recomputed. Each recomputed layer frees 90 bytes on the first stage, of the micro-batch that is
  // not between B and W, and none on the second.
  h1.recompute = Recompute::None;
  h1.evenStages = true;
  request.memoryLimit = 350;
  EXPECT_EQ(estimate(h1).stages[0].layersThat(Recompute::Full), 2);
  EXPECT_EQ(bytes(h1, 0), 2 * 200 - 2 * 90);
  EXPECT_EQ(estimate(h1).stages[1].layersThat(Recompute::Full), 2);
  EXPECT_EQ(bytes(h1, 1), 2 * 200);
  EXPECT_FALSE(estimate(h1).fits);
  // Two of four micro-batches are alive with a V of two chunks a stage.
  Decisions v = pipeline(ScheduleKind::ZeroBubbleV, 2, 8);
  EXPECT_EQ(bytes(v, 0), 2 * 200);
  v.recompute = v.recomputeMost = Recompute::Full;
  EXPECT_EQ(bytes(v, 0), 2 * 200);
}

// Below 2 p = 4 micro-batches each missing one leaves a quarter of one idle. From there on the
// second stage waits only for the first chunk's forward, 3 s.
TEST_F(StepByHand, FillsZeroBubbleVBelowTwiceTheStages) {
  layer().forward = layer().backwardInput = layer().backwardWeight = 3;
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::ZeroBubbleV, 2, 8)).loopSeconds, 8 * 18 + 3);
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::ZeroBubbleV, 2, 4)).loopSeconds, 4 * 18 + 3);
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::ZeroBubbleV, 2, 3)).loopSeconds,
                   3 * 18 + 1 * 18 / 4.0);
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::ZeroBubbleV, 2, 2)).loopSeconds,
                   2 * 18 + 2 * 18 / 4.0);
}

// A transfer between stages takes half a second: the way down and up, and twice a micro-batch if
// nothing hides it; beside compute only the way counts.
TEST_F(StepByHand, WaitsForTransfers) {
  model.transferSeconds = 0.5;
  Decisions d = pipeline(ScheduleKind::OneForwardOneBackward, 1, 4);
  EXPECT_DOUBLE_EQ(estimate(d).p2pSeconds, 2 * 0.5 + 2 * 4 * 0.5);
  EXPECT_DOUBLE_EQ(estimate(d).loopSeconds, 90 + 5);
  // In the schedule itself transfers are part of the idle time of the mean stage, which works 4 x
  // 18 s.
  StepEstimate step = estimate(d);
  EXPECT_DOUBLE_EQ(step.bubbleSeconds, 18);
  refineBySchedule(step, d);
  EXPECT_EQ(step.p2pSeconds, 0);
  EXPECT_DOUBLE_EQ(step.bubbleSeconds, step.loopSeconds - 72);
  cells.overlap.transfers = 1;
  EXPECT_DOUBLE_EQ(estimate(d).p2pSeconds, 2 * 0.5);
}

// Stage 0 has the embedding's table and two layers, stage 1 two layers and the head with its own
// copy of the table; a single stage has the table once.
TEST_F(StepByHand, HoldsParametersByStage) {
  layer().denseParameters = 100;
  model.embedding.denseParameters = model.head.denseParameters = 1000;
  model.tiedParameters = 1000;
  StepEstimate two = estimate(pipeline(ScheduleKind::OneForwardOneBackward, 1, 4));
  for (const StageEstimate &stage : two.stages) {
    EXPECT_DOUBLE_EQ(stage.memory.parameters, 4 * 1200);
    EXPECT_DOUBLE_EQ(stage.memory.gradients, 4 * 1200);
    EXPECT_DOUBLE_EQ(stage.memory.optimizer, 8 * 1200);
  }
  EXPECT_DOUBLE_EQ(estimate(Decisions()).stages.front().memory.parameters, 4 * 1400);
}

// Two micro-batches of 2 x 100 bytes are alive on the first of two stages under 1F1B, one on the
// second; the head's 30 bytes are alive once. The largest transient counts, not the sum.
TEST_F(StepByHand, HoldsActivationsOfMicroBatchesInFlight) {
  model.head.kept = 30;
  model.head.transient = 9;
  cells.process.fragmentation = 1.5;
  cells.process.perCommunicator = 1000;
  cells.process.reserved = 5000;
  StepEstimate step = estimate(pipeline(ScheduleKind::OneForwardOneBackward, 1, 4));
  const MemoryParts &first = step.stages[0].memory, &second = step.stages[1].memory;
  EXPECT_DOUBLE_EQ(first.activations, 1.5 * 2 * 200);
  EXPECT_DOUBLE_EQ(second.activations, 1.5 * (1 * 200 + 30));
  EXPECT_DOUBLE_EQ(first.temporaries, 1.5 * 7);
  EXPECT_DOUBLE_EQ(second.temporaries, 1.5 * 9);
  EXPECT_DOUBLE_EQ(first.communication, 1000); // pp alone
  EXPECT_DOUBLE_EQ(first.reserved, 5000);
  EXPECT_DOUBLE_EQ(step.peakBytes, 600 + 10.5 + 6000);
  EXPECT_EQ(step.fullestStage, 0u);
  // GPipe keeps all four.
  step = estimate(pipeline(ScheduleKind::GPipe, 1, 4));
  EXPECT_DOUBLE_EQ(step.stages[1].memory.activations, 1.5 * (4 * 200 + 30));
}

// If sent activations stay, the first stage holds the next layer's input of 10 bytes for each
// micro-batch in flight, the last holds none. With two chunks a stage, 3 of 4 chunks send: the
// first stage's two, one of the last's.
TEST_F(StepByHand, HoldsWhatItHasSentWhereTheStackDoes) {
  Decisions d = pipeline(ScheduleKind::OneForwardOneBackward, 1, 4);
  Decisions interleaved = pipeline(ScheduleKind::Interleaved, 2, 4);
  StepEstimate before = estimate(d), parts = estimate(interleaved);
  cells.process.keepsSent = true;
  StepEstimate after = estimate(d);
  EXPECT_DOUBLE_EQ(after.stages[0].memory.activations, 2 * (200 + 10));
  EXPECT_DOUBLE_EQ(after.stages[1].memory.activations, before.stages[1].memory.activations);
  after = estimate(interleaved);
  for (size_t stage : {0, 1})
    EXPECT_DOUBLE_EQ(after.stages[stage].memory.activations,
                     parts.stages[stage].memory.activations +
                         after.stages[stage].inFlight * 10 * (stage == 0 ? 2 : 1));
  // The second stage of a V hands its first chunk's result to itself.
  Decisions turned = pipeline(ScheduleKind::ZeroBubbleV, 2, 4);
  after = estimate(turned);
  cells.process.keepsSent = false;
  parts = estimate(turned);
  for (size_t stage : {0, 1})
    EXPECT_DOUBLE_EQ(after.stages[stage].memory.activations,
                     parts.stages[stage].memory.activations + after.stages[stage].inFlight * 10);
  cells.process.keepsSent = true;
  // There is no stage to send to.
  EXPECT_DOUBLE_EQ(estimate(Decisions()).stages[0].memory.activations, 400);
}

// Recomputation frees the activations that it computes again: a layer keeps 60 bytes or its input's
// 10, and takes 0.5 s or the whole forward pass once more. The recomputed layer is whole for a
// while: 100 - 10 bytes.
TEST_F(StepByHand, RecomputesWhatItDoesNotKeep) {
  Decisions d = pipeline(ScheduleKind::OneForwardOneBackward, 1, 4);
  d.recompute = d.recomputeMost = Recompute::Selective;
  StepEstimate step = estimate(d);
  EXPECT_DOUBLE_EQ(step.stages[0].memory.activations, 2 * 2 * 60);
  EXPECT_DOUBLE_EQ(step.recomputeSeconds, 4 * 2 * 0.5);
  EXPECT_DOUBLE_EQ(step.loopSeconds, 5 * 19);
  d.recompute = d.recomputeMost = Recompute::Full;
  step = estimate(d);
  EXPECT_DOUBLE_EQ(step.stages[0].memory.activations, 2 * 2 * 10);
  EXPECT_DOUBLE_EQ(step.stages[0].memory.temporaries, 7 + 90);
  EXPECT_DOUBLE_EQ(step.recomputeSeconds, 4 * 2 * 2);
  EXPECT_DOUBLE_EQ(step.loopSeconds, 5 * 22);
  // Half of each layer's two seconds is for ops that no gradient needs.
  layer().unread = 0.5;
  step = estimate(d);
  EXPECT_DOUBLE_EQ(step.recomputeSeconds, 4 * 2 * 1.5);
  EXPECT_DOUBLE_EQ(step.loopSeconds, 5 * 21);
}

// Four layers keep 400 bytes, and 7 more are temporary. If products are recomputed, a layer keeps
// 30 of its 100 bytes, and holds the other 70 during recomputation.
TEST_F(StepByHand, MixesTheTwoWaysThatAreFastest) {
  cells.recomputeMixes = recomputeMixes(ownStack().space);
  layer().partial[partialIndex(Recompute::SelectiveLinear)] = {1, 30, {}};
  for (Recompute dear :
       {Recompute::SelectiveAttention, Recompute::SelectiveDense, Recompute::SelectiveExperts,
        Recompute::SelectiveSparse, Recompute::SelectiveProducts, Recompute::SelectiveAll})
    layer().partial[partialIndex(dear)] = {10, 90, {}};
  Decisions d;
  d.recomputeMost = Recompute::Full;
  struct Case {
    double limit, seconds, bytes;
    std::array<int64_t, 4> layers; // number that recompute none, selective, with products, full
    double relaxed; // seconds if layers could be divided and held nothing during recomputation
  };
  for (
      Case c :
      {Case{407, 0, 407, {4, 0, 0, 0}, 0},
       // Each selective layer frees 40 bytes for half a second.
       Case{300, 1.5, 287, {1, 3, 0, 0}, 107 * 0.5 / 40}, Case{247, 2, 247, {0, 4, 0, 0}, 2},
       // All selective layers free 160 bytes; three with products free 90 more and need 70. With
       // products alone it would take four layers and 4 s, with full recomputation three layers and
       // 6 s.
       Case{230, 3.5, 227, {0, 1, 3, 0}, 2 + 17 * 0.5 / 30},
       Case{197, 4, 197, {0, 0, 4, 0}, 2 + 50 * 0.5 / 30},
       // All with products free 280 bytes, and full recomputation 20 more for each layer, which
       // needs another 20 once.
       Case{160, 7, 157, {0, 0, 1, 3}, 2 + 87 * 0.5 / 30},
       Case{137, 8, 137, {0, 0, 0, 4}, 2 + 110 * 0.5 / 30}}) {
    request.memoryLimit = c.limit;
    StepEstimate step = estimate(d);
    SCOPED_TRACE(c.limit);
    EXPECT_TRUE(step.fits);
    const StageEstimate &stage = step.stages[0];
    EXPECT_DOUBLE_EQ(stage.recomputeSeconds, c.seconds);
    EXPECT_DOUBLE_EQ(stage.memory.total(), c.bytes);
    EXPECT_EQ((std::array<int64_t, 4>{
                  stage.layersThat(Recompute::None), stage.layersThat(Recompute::Selective),
                  stage.layersThat(Recompute::SelectiveLinear), stage.layersThat(Recompute::Full)}),
              c.layers);
    StageInputs in(model, d, request);
    EXPECT_TRUE(mayFitWithin(in, 36 + c.relaxed + 0.01));
    EXPECT_FALSE(mayFitWithin(in, 36 + c.relaxed - 0.01));
  }
  request.memoryLimit = 136; // Nothing fits: the estimate comes as near as possible.
  EXPECT_FALSE(estimate(d).fits);
  EXPECT_EQ(estimate(d).stages[0].layersThat(Recompute::Full), 4);
  // Layers do no more than the allowed most.
  d.recomputeMost = Recompute::SelectiveLinear;
  request.memoryLimit = 196;
  EXPECT_FALSE(estimate(d).fits);
  EXPECT_EQ(estimate(d).stages[0].layersThat(Recompute::SelectiveLinear), 4);
  d.recomputeMost = Recompute::Full;
  // Software without further mixes has none and full.
  cells.recomputeMixes = {{Recompute::None, Recompute::Full}};
  request.memoryLimit = 230;
  EXPECT_EQ(estimate(d).stages[0].layersThat(Recompute::Full), 3);
  EXPECT_EQ(estimate(d).stages[0].layersThat(Recompute::None), 1);
}

// Recomputation sends again: 1 s of tensor and 2 s of expert parallelism, of which a quarter and a
// half are hidden and slow compute by a tenth.
TEST_F(StepByHand, PartialRecomputationSendsAgain) {
  cells.overlap.tp = 0.25;
  cells.overlap.ep = 0.5;
  cells.overlap.slowdown = 1.1;
  layer().partial[partialIndex(Recompute::SelectiveProducts)] = {1.5, 20, {1, 0, 0, 2}};
  layer().selectiveCollectives.ep = 2;
  Decisions d;
  d.recompute = d.recomputeMost = Recompute::SelectiveProducts;
  EXPECT_DOUBLE_EQ(estimate(d).recomputeSeconds, 4 * (1.5 + 0.75 + 1 + 0.1 * (0.25 + 1)));
  EXPECT_DOUBLE_EQ(estimate(d).stages[0].memory.activations, 4 * 20);
  EXPECT_DOUBLE_EQ(estimate(d).stages[0].memory.temporaries, 7 + 80);
  d.recompute = d.recomputeMost = Recompute::Selective;
  EXPECT_DOUBLE_EQ(estimate(d).recomputeSeconds, 4 * (0.5 + 1 + 0.1 * 1));
}

// 2 micro-batches of 2 x 100 bytes and the transient 7 do not fit in 400 on the first stage.
// Selective recomputation of one of its layers frees 2 x (100 - 60), full recomputation 2 x (100 -
// 10) while that layer is whole for a while. The second stage fits.
TEST_F(StepByHand, RecomputesAsFewLayersAsNeedBe) {
  request.memoryLimit = 400;
  Decisions d = pipeline(ScheduleKind::OneForwardOneBackward, 1, 4);
  d.recomputeMost = Recompute::Selective;
  StepEstimate step = estimate(d);
  EXPECT_TRUE(step.fits);
  EXPECT_EQ(step.stages[0].layersThat(Recompute::Selective), 1);
  EXPECT_EQ(step.stages[1].layersThat(Recompute::Selective), 0);
  EXPECT_DOUBLE_EQ(step.stages[0].memory.total(), 407 - 2 * 40);
  EXPECT_DOUBLE_EQ(step.stages[1].memory.total(), 207);
  EXPECT_DOUBLE_EQ(step.stages[0].microBatch(), 18.5);
  EXPECT_EQ(step.stages[0].chunkTimes.front().activationBytes, 160);
  d.recomputeMost = Recompute::Full;
  step = estimate(d);
  EXPECT_EQ(step.stages[0].layersThat(Recompute::Full), 1);
  EXPECT_DOUBLE_EQ(step.stages[0].memory.total(), 407 - 2 * 90 + 90);
  EXPECT_DOUBLE_EQ(step.recomputeSeconds, 4 * 2);
  request.memoryLimit = 100;
  EXPECT_FALSE(estimate(d).fits);
}

// Experts are on ep = 2 of the dp x cp = 8 ranks, and copies of one expert on 8 / 2 = 4 ranks: ZeRO
// divides dense parameters by 8, those of experts by 4. Stages 2 and 3 have two whole layers in
// transit.
TEST_F(StepByHand, DividesExpertsByTheRanksThatShareThem) {
  layer().denseParameters = 800;
  layer().expertParameters = 400; // on this rank, under ep
  Decisions d;
  d.dp = 4;
  d.cp = 2;
  d.ep = 2;
  cells.process.perCommunicator = 1;
  auto memory = [&](int64_t zero) {
    d.zero = zero;
    return estimate(d).stages.front().memory;
  };
  const double whole = 4 * (800 + 400), part = 4 * (800 / 8.0 + 400 / 4.0), two = 2 * 1200;
  EXPECT_DOUBLE_EQ(memory(0).optimizer, 8 * whole);
  EXPECT_DOUBLE_EQ(memory(1).optimizer, 8 * part);
  EXPECT_DOUBLE_EQ(memory(1).gradients, 4 * whole);
  EXPECT_DOUBLE_EQ(memory(2).gradients, 4 * part + 4 * two);
  EXPECT_DOUBLE_EQ(memory(2).parameters, 4 * whole);
  EXPECT_DOUBLE_EQ(memory(3).parameters, 4 * part + 4 * two);
  EXPECT_DOUBLE_EQ(memory(0).communication, 3); // communicators of dp, cp and ep
  // Within groups of 2 of the 4 ranks of dp there are half as many parts.
  d.zeroGroup = 2;
  EXPECT_DOUBLE_EQ(memory(1).optimizer, 8 * 4 * (800 / 4.0 + 400 / 2.0));
  EXPECT_DOUBLE_EQ(memory(1).communication, 4); // communicator between the groups
  EXPECT_DOUBLE_EQ(memory(0).communication, 3);
}

// Whole experts on ep = 2 of tp x dp = 8 ranks are on 4 of them, while all other parameters are on
// dp = 2. If dp is 1 too, ZeRO shards only the 4 / 2 copies of experts.
TEST_F(StepByHand, DividesFoldedExpertsByTensorRanksToo) {
  layer().denseParameters = 800;
  layer().expertParameters = 400; // on this rank, under ep
  Decisions d;
  d.tp = 4;
  d.dp = 2;
  d.ep = 2;
  d.sequenceParallel = d.foldedExperts = true;
  auto memory = [&](int64_t zero) {
    d.zero = zero;
    return estimate(d).stages.front().memory;
  };
  const double whole = 4 * (800 + 400), part = 4 * (800 / 2.0 + 400 / 4.0), two = 2 * 1200;
  EXPECT_DOUBLE_EQ(memory(0).optimizer, 8 * whole);
  EXPECT_DOUBLE_EQ(memory(1).optimizer, 8 * part);
  EXPECT_DOUBLE_EQ(memory(2).gradients, 4 * part + 4 * two);
  EXPECT_DOUBLE_EQ(memory(3).parameters, 4 * part + 4 * two);
  EXPECT_DOUBLE_EQ(estimate(d).optimizerSeconds, updateSeconds(32 * part));
  d.dp = 1;
  EXPECT_DOUBLE_EQ(memory(1).optimizer, 8 * 4 * (800 + 400 / 2.0));
  EXPECT_DOUBLE_EQ(memory(3).parameters, 4 * 4 * (800 + 400 / 2.0) + 4 * two);
  d.zeroGroup = 2; // group size 2 of 4 ranks of dp: 2 x 4 / 2
  d.dp = 4;
  EXPECT_DOUBLE_EQ(memory(1).optimizer, 8 * 4 * (800 / 2.0 + 400 / 4.0));
}

// 4 layers of 100 parameters, embedding and head of 1000 each on 4 ranks of ZeRO-3 in 16 bits: a
// rank has 2400 / 4 = 600, each with 12 bytes of master copy and states and 4 of gradient. FSDP
// gathers two layers in 16 bits; their gradients are sent in f32. A copy in 16 bits would be stored
// beside the master copy.
TEST_F(StepByHand, HoldsUnderZero3WhatTheStackGathers) {
  layer().denseParameters = 100;
  model.embedding.denseParameters = model.head.denseParameters = 1000;
  SoftwareStack stack = ownStack();
  stack.castsGathered = true;
  request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, stack);
  Decisions d;
  d.dp = 4;
  d.zero = 3;
  auto memory = [&] { return estimate(d).stages.front().memory; };
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * (2 * 100));
  EXPECT_DOUBLE_EQ(memory().gradients, 4 * 600 + 4 * (2 * 100));
  EXPECT_DOUBLE_EQ(memory().optimizer, 12 * 600);
  // XLA's loop over layers gathers one.
  cells.process.wholeLayers = 1;
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * 100);
  EXPECT_DOUBLE_EQ(memory().gradients, 4 * 600 + 4 * 100);
  // FSDP's root keeps 2000 parameters gathered, and their gradients in 16 bits; a shared matrix
  // counts once.
  cells.process.keepsEmbeddingAndHead = true;
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * (100 + 2000));
  EXPECT_DOUBLE_EQ(memory().gradients, 4 * 600 + 4 * 100 + 2 * 2000);
  model.tiedParameters = 1000;
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * (100 + 1000));
  EXPECT_DOUBLE_EQ(memory().gradients, 4 * 350 + 4 * 100 + 2 * 1000);
  model.tiedParameters = 0;
  // If states are on the host, the device's share is stored on the device.
  d.offloadOptimizer = true;
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * 600 + 2 * (100 + 2000));
  d.offloadOptimizer = false;
  // Parameters are whole under ZeRO-2 anyway, and the gradients are those of a layer.
  d.zero = 2;
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * 2400);
  EXPECT_DOUBLE_EQ(memory().gradients, 4 * 600 + 4 * 100);
  d.zero = 3;
  cells.process = {};
  stack.castsGathered = false;
  request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, stack);
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * 600 + 2 * (2 * 100));
  // In f32 there is no other copy to cast from.
  stack.castsGathered = true;
  request.precision = cellPrecision(Precision::F32, OptimizerKind::AdamW, stack);
  EXPECT_DOUBLE_EQ(memory().parameters, 4 * 600 + 4 * (2 * 100));
}

// In f32 AdamW moves 2 x 8 bytes of states, 2 x 4 of gradients and 2 x 4 of parameters: 32 a
// parameter. With 2-byte parameters and a master copy it moves 2 x 12 + 2 x 4 + 2 = 34.
TEST_F(StepByHand, UpdatesEachParameterOnce) {
  layer().denseParameters = 4e9;
  Decisions d;
  EXPECT_DOUBLE_EQ(estimate(d).optimizerSeconds, updateSeconds(32 * 16e9));
  d.dp = 4;
  EXPECT_DOUBLE_EQ(estimate(d).optimizerSeconds, updateSeconds(32 * 16e9));
  d.zero = 1;
  EXPECT_DOUBLE_EQ(estimate(d).optimizerSeconds, updateSeconds(32 * 4e9));
  layer().expertParameters = 2e9;
  d.ep = 2; // 16e9 / 4 dense ones and 8e9 / 2 of experts
  EXPECT_DOUBLE_EQ(estimate(d).optimizerSeconds, updateSeconds(32 * 8e9));
  request.precision.parameterBytes = 2;
  request.precision.optimizerBytes = 12;
  EXPECT_DOUBLE_EQ(estimate(d).optimizerSeconds, updateSeconds(34 * 8e9));
  // 8e9 parameters at 3.352 TB/s take 81 ms or more.
  EXPECT_GT(updateSeconds(34 * 8e9), 34 * 8e9 / 3.352e12);
  EXPECT_LT(updateSeconds(34 * 8e9), 2 * 34 * 8e9 / 3.352e12);
}

// Stages update at the same time: the step takes as long as the larger one.
TEST_F(StepByHand, UpdatesStagesBesideEachOther) {
  layer().denseParameters = 1e9;
  model.head.denseParameters = 3e9;
  StepEstimate step = estimate(pipeline(ScheduleKind::OneForwardOneBackward, 1, 4));
  EXPECT_DOUBLE_EQ(step.optimizerSeconds, updateSeconds(32 * 5e9));
  EXPECT_DOUBLE_EQ(step.stages[0].optimizerSeconds, updateSeconds(32 * 2e9));
  EXPECT_DOUBLE_EQ(step.stepSeconds, 90 + updateSeconds(32 * 5e9));
}

// The device holds no states if the optimizer is on the host; the copies of gradients hide behind
// backward.
TEST_F(StepByHand, OffloadsStates) {
  layer().denseParameters = 1e9;
  Decisions d;
  d.offloadOptimizer = true;
  StepEstimate step = estimate(d);
  HostUpdate update = updateOnHost(4e9, request.precision, topology.device.hostShare());
  EXPECT_EQ(step.stages.front().memory.optimizer, 0);
  EXPECT_DOUBLE_EQ(step.stages.front().hostBytes, update.bytes);
  EXPECT_DOUBLE_EQ(step.optimizerSeconds, update.toHostSeconds + update.updateSeconds);
  EXPECT_LT(step.memoryNeed, 1);
  // Training may use nine tenths of the host's memory.
  topology.device.host.memoryBytes = static_cast<int64_t>(update.bytes) / 9;
  step = estimate(d);
  EXPECT_FALSE(step.fits);
  EXPECT_TRUE(step.hostIsShort);
  EXPECT_NEAR(step.memoryNeed, 10, 1e-6);
  EXPECT_DOUBLE_EQ(step.hostBytes, update.bytes);
  cells.overlap.gradients = 1; // 4 x 7 s of backward
  EXPECT_LT(update.toHostSeconds, 28);
  EXPECT_DOUBLE_EQ(estimate(d).optimizerSeconds, update.updateSeconds);
}

// A quarter of tensor-parallel seconds and half of context-parallel ones run beside compute and
// slow it by a tenth of their time; nothing hides those of experts.
TEST_F(StepByHand, WaitsForWhatNothingHides) {
  layer().forwardTp = 0.4;
  layer().backwardTp = 0.8;
  layer().forwardCp = 0.2;
  layer().backwardCp = 0.6;
  layer().forwardEp = 0.1;
  layer().backwardEp = 0.3;
  cells.overlap.tp = 0.25;
  cells.overlap.cp = 0.5;
  cells.overlap.slowdown = 1.1;
  Decisions d;
  d.tp = 2;
  d.cp = 2;
  d.dp = 2;
  d.ep = 2;
  d.numMicroBatches = 3;
  StepEstimate step = estimate(d);
  EXPECT_DOUBLE_EQ(step.exposedTpSeconds, 3 * 4 * 0.75 * 1.2);
  EXPECT_DOUBLE_EQ(step.exposedCpSeconds, 3 * 4 * 0.5 * 0.8);
  EXPECT_DOUBLE_EQ(step.exposedEpSeconds, 3 * 4 * 0.4);
  double slow = 0.1 * (0.25 * 1.2 + 0.5 * 0.8);
  EXPECT_DOUBLE_EQ(step.computeSeconds, 3 * 4 * (9 + slow));
  EXPECT_NEAR(step.loopSeconds, 3 * 4 * (9 + slow + 0.9 + 0.4 + 0.4), 1e-9);
  // A recomputed forward pass waits again: 2 s, 0.1 x (0.25 x 0.4 + 0.5 x 0.2) and 0.3 + 0.1 + 0.1
  // of waits.
  d.recompute = d.recomputeMost = Recompute::Full;
  EXPECT_DOUBLE_EQ(estimate(d).recomputeSeconds, 3 * 4 * (2 + 0.02 + 0.5));
  // Recomputed attention alone, 0.5 s, waits for the keys of context parallelism: 0.1 s, and 0.01 s
  // that it is slowed by.
  d.recompute = d.recomputeMost = Recompute::Selective;
  EXPECT_DOUBLE_EQ(estimate(d).recomputeSeconds, 3 * 4 * 0.5);
  layer().selectiveCollectives.cp = 0.2;
  EXPECT_DOUBLE_EQ(estimate(d).recomputeSeconds, 3 * 4 * (0.5 + 0.11));
  d.recompute = d.recomputeMost = Recompute::Full;
  // Attention waits for its heads as a whole.
  layer().forwardHeads = 0.3;
  layer().backwardHeads = 0.7;
  EXPECT_DOUBLE_EQ(estimate(d).exposedCpSeconds, 3 * 4 * (0.5 * 0.8 + 1));
  EXPECT_DOUBLE_EQ(estimate(d).recomputeSeconds, 3 * 4 * (2 + 0.02 + 0.8));
}

// ZeRO-3 gathers a layer's parameters for each pass and scatters its gradients, beside compute as
// far as possible.
TEST_F(StepByHand, GathersLayersUnderZero3) {
  layer().denseParameters = 1e9;
  Decisions d;
  d.dp = 8;
  d.zero = 3;
  d.numMicroBatches = 2;
  auto seconds = [&](CollectiveKind kind) { // 4 bytes each
    return collectiveSeconds(kind, 4e9, {{8, 1}}, topology);
  };
  double gather = seconds(CollectiveKind::AllGather),
         scatter = seconds(CollectiveKind::ReduceScatter);
  EXPECT_DOUBLE_EQ(estimate(d).exposedGatherSeconds, 2 * 4 * (2 * gather + scatter));
  d.zero = 2;
  EXPECT_DOUBLE_EQ(estimate(d).exposedGatherSeconds, 2 * 4 * scatter);
  d.zero = 1;
  EXPECT_EQ(estimate(d).exposedGatherSeconds, 0);
  d.zero = 3;
  cells.overlap.gathers = 1; // 2 s of forward hide all
  ASSERT_LT(2 * gather + scatter, 2);
  EXPECT_EQ(estimate(d).exposedGatherSeconds, 0);
}

// Tensor parallelism reduces gradients of 4 layers with 1e7 elements each: all of them with ZeRO-0,
// the quarter that a rank is left with from ZeRO-1 on.
TEST_F(StepByHand, AddsUpWhatTensorParallelismShares) {
  layer().sharedGradients = 1e7;
  Decisions d;
  d.tp = 2;
  d.dp = 4;
  auto sums = [&](double bytes) {
    return bucketedSeconds(CollectiveKind::AllReduce, bytes, {{2, 1}}, topology);
  };
  EXPECT_DOUBLE_EQ(estimate(d).exposedGradientSeconds, sums(4 * 4e7));
  d.zero = 1;
  EXPECT_DOUBLE_EQ(estimate(d).exposedGradientSeconds, sums(4e7));
}

// Muon gathers the matrices of 4 layers, of 1e7 elements in f32 each, from the ranks that have
// parts of them, and multiplies them on each rank, as if they were squares of 512.
TEST_F(StepByHand, MakesMatricesOrthogonal) {
  layer().matrixElements = 1e7;
  layer().matrixFlops = 30 * 512 * 1e7;
  Decisions d;
  d.tp = 2;
  d.dp = 4;
  auto seconds = [&](bool isMuon) {
    request.precision.orthogonalises = isMuon;
    return estimate(d).optimizerSeconds;
  };
  EXPECT_EQ(seconds(false), 0);
  OpWork products;
  products.kind = WorkKind::Product;
  products.flops = 4 * 30 * 512 * 1e7;
  products.bytes = 4 * 45 * 4 * 1e7;
  products.m = products.n = products.k = 512;
  products.batch = 2288; // 30 * 4e7 / (2 * 512 * 512)
  double compute = secondsOf(products, topology.device),
         tensor = collectiveSeconds(CollectiveKind::AllGather, 16e7, {{2, 1}}, topology);
  EXPECT_DOUBLE_EQ(seconds(true), compute + tensor);
  d.zero = 1;
  EXPECT_DOUBLE_EQ(seconds(true),
                   compute + tensor +
                       collectiveSeconds(CollectiveKind::AllGather, 8e7, {{4, 2}}, topology));
  double inF32 = seconds(true); // the products of models in f16 are in f32
  request.precision.compute = ComputeType::F16;
  request.precision.parameterBytes = 2;
  EXPECT_DOUBLE_EQ(seconds(true), inF32);
}

// Each of 4 layers has 1e7 elements, of which 2e6 outside of hidden matrices have a second moment.
TEST_F(StepByHand, KeepsSecondMomentsOutsideOfMatrices) {
  layer().denseParameters = 1e7;
  request.precision.optimizerBytes = 4;
  Decisions d;
  d.dp = 4;
  auto optimizer = [&](double otherBytes, double inMatrices) {
    request.precision.otherStateBytes = otherBytes;
    layer().denseMatrices = inMatrices;
    return estimate(d).stages.front().memory.optimizer;
  };
  double momentum = optimizer(0, 1e7);
  EXPECT_DOUBLE_EQ(momentum, 4 * 4e7);
  EXPECT_DOUBLE_EQ(optimizer(4, 1e7), momentum);
  EXPECT_DOUBLE_EQ(optimizer(4, 8e6), momentum + 4 * 4 * 2e6);
  d.zero = 1;
  EXPECT_DOUBLE_EQ(optimizer(4, 8e6), (momentum + 4 * 4 * 2e6) / 4);
}

// The last chunk's reduction and the first one's gather wait for half of the time that the passes
// cannot hide if a stage has two chunks, here half: a quarter of each.
TEST_F(StepByHand, ReducesTheLastChunkAlone) {
  layer().denseParameters = 1e9;
  cells.overlap.gradients = 0.5;
  Decisions d = pipeline(ScheduleKind::Interleaved, 2, 4);
  d.dp = 2;
  d.zero = 1;
  StepEstimate step = estimate(d);
  GradientCollectives collectives = gradientCollectivesOf(
      kStackBuckets, 2e9, 0, 1, ShardGroups(model.groups, d), topology, request.precision);
  ASSERT_LT(collectives.reduce.all + collectives.gather.all, 1); // the passes take longer
  EXPECT_DOUBLE_EQ(step.stages[0].gradientSeconds, collectives.reduce.all + collectives.gather.all);
  EXPECT_DOUBLE_EQ(step.exposedGradientSeconds,
                   0.25 * collectives.reduce.all + 0.25 * collectives.gather.all);
}

// Other micro-batches hide them too: here there is only one, whose passes take 14 and 4 ms.
TEST_F(StepByHand, ReducesBesideTheMicroBatchesThatThereAre) {
  for (double BlockCost::*part :
       {&BlockCost::forward, &BlockCost::backwardInput, &BlockCost::backwardWeight})
    layer().*part *= 1e-3;
  layer().denseParameters = 1e9;
  cells.overlap.gradients = 1;
  Decisions d = pipeline(ScheduleKind::Interleaved, 2, 1);
  d.dp = 2;
  d.zero = 1;
  StepEstimate step = estimate(d);
  GradientCollectives collectives = gradientCollectivesOf(
      kStackBuckets, 2e9, 0, 1, ShardGroups(model.groups, d), topology, request.precision);
  ASSERT_GT(collectives.reduce.all, 0.014);
  EXPECT_NEAR(step.exposedGradientSeconds,
              collectives.reduce.all - 0.014 + collectives.gather.all - 0.004, 1e-12);
}

} // namespace
} // namespace dtc
