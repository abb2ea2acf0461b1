// Seconds and bytes of steps whose blocks have round numbers, each worked out by hand.
#include "compiler/estimate/GradientExchange.h"
#include "compiler/estimate/HostOffload.h"
#include "compiler/estimate/StageCoster.h"
#include "compiler/estimate/StepEstimate.h"
#include "compiler/stack/RecomputeMixes.h"
#include "test/unit/estimate/RoundLayers.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

using StepByHand = RoundLayers;

// m micro-batches of the slowest stage's 18 s, and the fill: (p - 1) = 1 stage's 18 s, over v with v
// virtual stages.
TEST_F(StepByHand, FillsGPipeAnd1F1B) {
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::GPipe, 1, 4)).loopSeconds, 4 * 18 + 18);
  StepEstimate step = estimate(pipeline(ScheduleKind::OneForwardOneBackward, 1, 4));
  EXPECT_DOUBLE_EQ(step.loopSeconds, 4 * 18 + 18);
  EXPECT_DOUBLE_EQ(step.stepSeconds, 90); // nothing to exchange or to update
  EXPECT_DOUBLE_EQ(step.bubbleSeconds, 18);
  EXPECT_DOUBLE_EQ(step.computeSeconds, 4 * 18);
}

// Passes of 3 + 1 + 1 = 5 s over a stage's share, each of 4 micro-batches; collectives of 2 s once, and a tenth of them
// as long as they slow compute. Barriers keep one micro-batch more alive each, and all hold a share of 20 parameters.
TEST_F(StepByHand, StopsForSharesOfTheVocabulary) {
  Decisions d = pipeline(ScheduleKind::OneForwardOneBackward, 1, 4);
  cells.overlap.slowdown = 1.1;
  model.embedding.forward = model.head.forward = 50; // of who has it whole
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
    // However layers are cut: 36 s of them over 1 - (1 - 1 / m)^p.
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
  d.numMicroBatches = 2; // no more are alive than there are
  EXPECT_EQ(estimate(d).stages.front().inFlight, 2);
  model.vocabulary->collectives = 50; // beyond the 18 + 5 + 5 s that a micro-batch computes
  EXPECT_DOUBLE_EQ(estimate(d).vocabularySeconds, 2 * 10 + 50 + 2 * (50 - 28));
}

// Of stages of 4 + 18 and 18 s the slowest takes 22 a micro-batch, and the other one's 18 are halved.
TEST_F(StepByHand, FillsInterleavedByItsVirtualStages) {
  Decisions d = pipeline(ScheduleKind::Interleaved, 2, 4);
  EXPECT_DOUBLE_EQ(estimate(d).loopSeconds, 4 * 18 + 18 / 2.0);
  model.embedding.forward = 4;
  EXPECT_DOUBLE_EQ(estimate(d).loopSeconds, 4 * 22 + 18 / 2.0);
}

// Each stage waits for forward and the input's gradient, less what gradients of weights fill: of two layers
// of 2 + 5 + 1 s 4 + 10 - 2 = 12 s, of which (p - 1) / p is left.
TEST_F(StepByHand, FillsZeroBubbleH1ByWhatWeightsLeave) {
  layer().backwardInput = 5;
  layer().backwardWeight = 1;
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::ZeroBubbleH1, 1, 4)).loopSeconds,
                   4 * 16 + 2 * 12 * (1 / 2.0));
}

// More forwards before the first backward leave as little as gradients of weights fill twice: 4 + 10 - 2 x 2 s; but the
// last stage waits for the forwards of those before, 4 s, and three forwards fill all but 10 - 4 s until B.
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

// A half and two thirds of 1F1B's 18 s.
TEST_F(StepByHand, FillsVHalfAndVMinByTheirShares) {
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::VHalf, 2, 4)).loopSeconds, 4 * 18 + 9);
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::VMin, 2, 4)).loopSeconds, 4 * 18 + 12);
}

// A stage of two layers keeps 200 bytes of a micro-batch from F to the end of W: on both stages of two micro-batches, of
// ZB-2p three. What recomputation spares until B, 180 of them, is there between B and W all the same.
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
  // Layers recompute until 350 bytes are enough, of which 7 + 90 are of the one that is computed again: each spares
  // the first stage 90 of the micro-batch that is not between B and W, and the second nothing.
  h1.recompute = Recompute::None;
  h1.evenStages = true;
  request.memoryLimit = 350;
  EXPECT_EQ(estimate(h1).stages[0].layersThat(Recompute::Full), 2);
  EXPECT_EQ(bytes(h1, 0), 2 * 200 - 2 * 90);
  EXPECT_EQ(estimate(h1).stages[1].layersThat(Recompute::Full), 2);
  EXPECT_EQ(bytes(h1, 1), 2 * 200);
  EXPECT_FALSE(estimate(h1).fits);
  // Two of four micro-batches of a V of two chunks a stage.
  Decisions v = pipeline(ScheduleKind::ZeroBubbleV, 2, 8);
  EXPECT_EQ(bytes(v, 0), 2 * 200);
  v.recompute = v.recomputeMost = Recompute::Full;
  EXPECT_EQ(bytes(v, 0), 2 * 200);
}

// Below 2 p = 4 micro-batches each that is missing leaves a quarter of one idle. From there on the second
// stage waits for the first chunk's forward, 3 s, and for nothing else.
TEST_F(StepByHand, FillsZeroBubbleVBelowTwiceTheStages) {
  layer().forward = layer().backwardInput = layer().backwardWeight = 3;
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::ZeroBubbleV, 2, 8)).loopSeconds, 8 * 18 + 3);
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::ZeroBubbleV, 2, 4)).loopSeconds, 4 * 18 + 3);
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::ZeroBubbleV, 2, 3)).loopSeconds,
                   3 * 18 + 1 * 18 / 4.0);
  EXPECT_DOUBLE_EQ(estimate(pipeline(ScheduleKind::ZeroBubbleV, 2, 2)).loopSeconds,
                   2 * 18 + 2 * 18 / 4.0);
}

// Half a second from stage to stage: the way down and up, and twice a micro-batch where nothing hides it;
// beside compute the way alone.
TEST_F(StepByHand, WaitsForTransfers) {
  model.transferSeconds = 0.5;
  Decisions d = pipeline(ScheduleKind::OneForwardOneBackward, 1, 4);
  EXPECT_DOUBLE_EQ(estimate(d).p2pSeconds, 2 * 0.5 + 2 * 4 * 0.5);
  EXPECT_DOUBLE_EQ(estimate(d).loopSeconds, 90 + 5);
  // Of the schedule itself they are part of what the mean stage, which works 4 x 18 s, is idle.
  StepEstimate step = estimate(d);
  EXPECT_DOUBLE_EQ(step.bubbleSeconds, 18);
  refineBySchedule(step, d);
  EXPECT_EQ(step.p2pSeconds, 0);
  EXPECT_DOUBLE_EQ(step.bubbleSeconds, step.loopSeconds - 72);
  cells.overlap.transfers = 1;
  EXPECT_DOUBLE_EQ(estimate(d).p2pSeconds, 2 * 0.5);
}

// Stage 0 has the embedding's table and two layers, stage 1 two layers and the head with its own copy of
// the table; one stage has it once.
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

// Of 1F1B on two stages two micro-batches are alive on the first, one on the second, of 2 x 100 bytes;
// the head's 30 bytes are alive once. The largest transient counts, not the sum.
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

// Where what was sent stays, the first stage holds the next layer's input of 10 bytes for each micro-batch in flight, the
// last none. Of two chunks a stage, 3 of 4 are sent on: the first stage's two, one of the last's.
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
  // The second stage of a V hands what its first chunk makes to itself.
  Decisions turned = pipeline(ScheduleKind::ZeroBubbleV, 2, 4);
  after = estimate(turned);
  cells.process.keepsSent = false;
  parts = estimate(turned);
  for (size_t stage : {0, 1})
    EXPECT_DOUBLE_EQ(after.stages[stage].memory.activations,
                     parts.stages[stage].memory.activations + after.stages[stage].inFlight * 10);
  cells.process.keepsSent = true;
  EXPECT_DOUBLE_EQ(estimate(Decisions()).stages[0].memory.activations, 400); // nowhere to send
}

// Recomputation frees what it makes again: a layer keeps 60 or its input's 10, and takes 0.5 s or all of
// the forward pass once more. The layer that is made again is whole for a while: 100 - 10 bytes.
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
  // Of each layer's two seconds, half a one that no gradient needs.
  layer().unread = 0.5;
  step = estimate(d);
  EXPECT_DOUBLE_EQ(step.recomputeSeconds, 4 * 2 * 1.5);
  EXPECT_DOUBLE_EQ(step.loopSeconds, 5 * 21);
}

// Four layers keep 400 bytes, and 7 more are there for a while. Where products run again a layer keeps 30 of its 100,
// and holds the other 70 while it does.
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
    std::array<int64_t, 4> layers; // none, selective, with products, full
    double relaxed; // seconds, if any share of a layer could, and held nothing while it did
  };
  for (
      Case c :
      {Case{407, 0, 407, {4, 0, 0, 0}, 0},
       // Each selective layer frees 40 for half a second.
       Case{300, 1.5, 287, {1, 3, 0, 0}, 107 * 0.5 / 40}, Case{247, 2, 247, {0, 4, 0, 0}, 2},
       // All of them free 160, three with products 90 more and 70 less; with products alone it would take four
       // and 4 s, in full three and 6 s.
       Case{230, 3.5, 227, {0, 1, 3, 0}, 2 + 17 * 0.5 / 30},
       Case{197, 4, 197, {0, 0, 4, 0}, 2 + 50 * 0.5 / 30},
       // 280 of all with products, 20 each in full, which take another 20 at once.
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
    StageCoster coster(model, d, request);
    EXPECT_TRUE(coster.mayFitWithin(36 + c.relaxed + 0.01));
    EXPECT_FALSE(coster.mayFitWithin(36 + c.relaxed - 0.01));
  }
  request.memoryLimit = 136; // nothing does: as near as it gets
  EXPECT_FALSE(estimate(d).fits);
  EXPECT_EQ(estimate(d).stages[0].layersThat(Recompute::Full), 4);
  // No more than the most.
  d.recomputeMost = Recompute::SelectiveLinear;
  request.memoryLimit = 196;
  EXPECT_FALSE(estimate(d).fits);
  EXPECT_EQ(estimate(d).stages[0].layersThat(Recompute::SelectiveLinear), 4);
  d.recomputeMost = Recompute::Full;
  // Software that mixes no more has none and full.
  cells.recomputeMixes = {{Recompute::None, Recompute::Full}};
  request.memoryLimit = 230;
  EXPECT_EQ(estimate(d).stages[0].layersThat(Recompute::Full), 3);
  EXPECT_EQ(estimate(d).stages[0].layersThat(Recompute::None), 1);
}

// What runs again sends again: 1 s of tensor and 2 s of expert parallelism, of which a quarter and a half are hidden and
// slow compute by a tenth.
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

// 2 micro-batches of 2 x 100 bytes and the transient 7 do not fit in 400 on the first stage. One of its layers
// frees 2 x (100 - 60) where it recomputes some, 2 x (100 - 10) where all, and is whole for a while then; the
// second stage fits.
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

// Experts are on ep = 2 of the dp x cp = 8 ranks, copies of one expert on 8 / 2 = 4: ZeRO divides dense
// ones by 8, those of experts by 4. Stages 2 and 3 have two whole layers in passing.
TEST_F(StepByHand, DividesExpertsByTheRanksThatShareThem) {
  layer().denseParameters = 800;
  layer().expertParameters = 400; // of this rank, under ep
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
  EXPECT_DOUBLE_EQ(memory(0).communication, 3); // of dp, cp and ep
  // Within groups of 2 of the 4 ranks of dp there are half as many parts.
  d.zeroGroup = 2;
  EXPECT_DOUBLE_EQ(memory(1).optimizer, 8 * 4 * (800 / 4.0 + 400 / 2.0));
  EXPECT_DOUBLE_EQ(memory(1).communication, 4); // between the groups, too
  EXPECT_DOUBLE_EQ(memory(0).communication, 3);
}

// Whole experts on ep = 2 of tp x dp = 8 ranks are on 4 of them, where everything else is on dp = 2. Where dp is 1,
// too, ZeRO has the 4 / 2 copies of experts to share out, and nothing else.
TEST_F(StepByHand, DividesFoldedExpertsByTensorRanksToo) {
  layer().denseParameters = 800;
  layer().expertParameters = 400; // of this rank, under ep
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
  d.zeroGroup = 2; // of 4 ranks of dp: 2 x 4 / 2
  d.dp = 4;
  EXPECT_DOUBLE_EQ(memory(1).optimizer, 8 * 4 * (800 / 2.0 + 400 / 4.0));
}

// 4 layers of 100 parameters, embedding and head of 1000 each on 4 ranks of ZeRO-3 in 16 bits: a rank has 2400 / 4 =
// 600, of each 12 bytes of master copy and states and 4 of gradient. FSDP gathers two layers in 16 bits; their gradients
// are on the wire in f32. A copy in 16 bits would rest beside the master copy.
TEST_F(StepByHand, HoldsUnderZero3WhatTheStackGathers) {
  layer().denseParameters = 100;
  model.embedding.denseParameters = model.head.denseParameters = 1000;
  SoftwareStack stack = ownStack();
  stack.castsGathered = true;
  request.precision = cellPrecision("bf16", "adamw", stack);
  Decisions d;
  d.dp = 4;
  d.zero = 3;
  auto memory = [&] { return estimate(d).stages.front().memory; };
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * (2 * 100));
  EXPECT_DOUBLE_EQ(memory().gradients, 4 * 600 + 4 * (2 * 100));
  EXPECT_DOUBLE_EQ(memory().optimizer, 12 * 600);
  // XLA's loop over layers: one.
  cells.process.wholeLayers = 1;
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * 100);
  EXPECT_DOUBLE_EQ(memory().gradients, 4 * 600 + 4 * 100);
  // FSDP's root keeps 2000 parameters gathered, and their gradients in 16 bits; a shared matrix once.
  cells.process.keepsEnds = true;
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * (100 + 2000));
  EXPECT_DOUBLE_EQ(memory().gradients, 4 * 600 + 4 * 100 + 2 * 2000);
  model.tiedParameters = 1000;
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * (100 + 1000));
  EXPECT_DOUBLE_EQ(memory().gradients, 4 * 350 + 4 * 100 + 2 * 1000);
  model.tiedParameters = 0;
  // Where states are on the host the device's share has to rest here.
  d.offloadOptimizer = true;
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * 600 + 2 * (100 + 2000));
  d.offloadOptimizer = false;
  // Of ZeRO-2 parameters are whole anyway, and gradients those of a layer.
  d.zero = 2;
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * 2400);
  EXPECT_DOUBLE_EQ(memory().gradients, 4 * 600 + 4 * 100);
  d.zero = 3;
  cells.process = {};
  stack.castsGathered = false;
  request.precision = cellPrecision("bf16", "adamw", stack);
  EXPECT_DOUBLE_EQ(memory().parameters, 2 * 600 + 2 * (2 * 100));
  // In f32 there is no other copy to cast from.
  stack.castsGathered = true;
  request.precision = cellPrecision("f32", "adamw", stack);
  EXPECT_DOUBLE_EQ(memory().parameters, 4 * 600 + 4 * (2 * 100));
}

// In f32 AdamW moves 2 x 8 bytes of states, 2 x 4 of gradients and 2 x 4 of parameters: 32 a parameter.
// With 2-byte parameters and a master copy 2 x 12 + 2 x 4 + 2 = 34.
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
  // 8e9 parameters at 3.352 TB/s are some 81 ms and more.
  EXPECT_GT(updateSeconds(34 * 8e9), 34 * 8e9 / 3.352e12);
  EXPECT_LT(updateSeconds(34 * 8e9), 2 * 34 * 8e9 / 3.352e12);
}

// Stages update beside each other: the step takes what the larger does.
TEST_F(StepByHand, UpdatesStagesBesideEachOther) {
  layer().denseParameters = 1e9;
  model.head.denseParameters = 3e9;
  StepEstimate step = estimate(pipeline(ScheduleKind::OneForwardOneBackward, 1, 4));
  EXPECT_DOUBLE_EQ(step.optimizerSeconds, updateSeconds(32 * 5e9));
  EXPECT_DOUBLE_EQ(step.stages[0].optimizerSeconds, updateSeconds(32 * 2e9));
  EXPECT_DOUBLE_EQ(step.stepSeconds, 90 + updateSeconds(32 * 5e9));
}

// On the host the device holds no states; the copies of gradients hide behind backward.
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
  // Of the host's memory training may use nine tenths.
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

// A quarter of tensor-parallel seconds and half of context-parallel ones run beside compute and slow it by a
// tenth of their time; nothing hides those of experts.
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
  // Run again, a forward pass waits again: 2 s, 0.1 x (0.25 x 0.4 + 0.5 x 0.2) and 0.3 + 0.1 + 0.1 of waits.
  d.recompute = d.recomputeMost = Recompute::Full;
  EXPECT_DOUBLE_EQ(estimate(d).recomputeSeconds, 3 * 4 * (2 + 0.02 + 0.5));
  // Attention alone, 0.5 s, waits for what context parallelism brings it: 0.1 s, and 0.01 s that it is slowed by.
  d.recompute = d.recomputeMost = Recompute::Selective;
  EXPECT_DOUBLE_EQ(estimate(d).recomputeSeconds, 3 * 4 * 0.5);
  layer().selectiveCollectives.cp = 0.2;
  EXPECT_DOUBLE_EQ(estimate(d).recomputeSeconds, 3 * 4 * (0.5 + 0.11));
  d.recompute = d.recomputeMost = Recompute::Full;
  // All of attention waits for its heads.
  layer().forwardHeads = 0.3;
  layer().backwardHeads = 0.7;
  EXPECT_DOUBLE_EQ(estimate(d).exposedCpSeconds, 3 * 4 * (0.5 * 0.8 + 1));
  EXPECT_DOUBLE_EQ(estimate(d).recomputeSeconds, 3 * 4 * (2 + 0.02 + 0.8));
}

// ZeRO-3 gathers a layer's parameters for each pass and scatters its gradients, beside compute as far as
// that goes.
TEST_F(StepByHand, GathersLayersUnderZero3) {
  layer().denseParameters = 1e9;
  Decisions d;
  d.dp = 8;
  d.zero = 3;
  d.numMicroBatches = 2;
  auto seconds = [&](CollectiveKind kind) { // of 4 bytes each
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

// Gradients that tensor parallelism adds up, of 4 layers with 1e7 elements each: of all with ZeRO-0, of the
// quarter that a rank is left with from ZeRO-1 on.
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

// With two chunks a stage the last chunk's reduction and the first one's gather wait for half of what the
// passes cannot hide, here half: a quarter of each.
TEST_F(StepByHand, ExchangesTheLastChunkAlone) {
  layer().denseParameters = 1e9;
  cells.overlap.gradients = 0.5;
  Decisions d = pipeline(ScheduleKind::Interleaved, 2, 4);
  d.dp = 2;
  d.zero = 1;
  StepEstimate step = estimate(d);
  GradientExchange exchange = exchangeIn(kStackBuckets, 2e9, 0, 1, ShardGroups(model.groups, d),
                                         topology, request.precision);
  ASSERT_LT(exchange.reduce.all + exchange.gather.all, 1); // the passes take longer
  EXPECT_DOUBLE_EQ(step.stages[0].gradientSeconds, exchange.reduce.all + exchange.gather.all);
  EXPECT_DOUBLE_EQ(step.exposedGradientSeconds,
                   0.25 * exchange.reduce.all + 0.25 * exchange.gather.all);
}

// Other micro-batches hide them, too, as many as there are: one here, whose passes of 14 and 4 ms are all.
TEST_F(StepByHand, ExchangesBesideTheMicroBatchesThatThereAre) {
  for (double BlockCost::*part :
       {&BlockCost::forward, &BlockCost::backwardInput, &BlockCost::backwardWeight})
    layer().*part *= 1e-3;
  layer().denseParameters = 1e9;
  cells.overlap.gradients = 1;
  Decisions d = pipeline(ScheduleKind::Interleaved, 2, 1);
  d.dp = 2;
  d.zero = 1;
  StepEstimate step = estimate(d);
  GradientExchange exchange = exchangeIn(kStackBuckets, 2e9, 0, 1, ShardGroups(model.groups, d),
                                         topology, request.precision);
  ASSERT_GT(exchange.reduce.all, 0.014);
  EXPECT_NEAR(step.exposedGradientSeconds,
              exchange.reduce.all - 0.014 + exchange.gather.all - 0.004, 1e-12);
}

// 36 s of layers on two stages, four micro-batches: 4 x 36 / 2 and half a layer of the way; with one chunk
// a stage at least 36 / (1 - (3/4)^2). Split backward passes start the way up before weights: half of 2 s.
TEST_F(StepByHand, BoundsTheLoopFromBelow) {
  auto bound = [&](ScheduleKind kind, int64_t virtualStages) {
    Decisions d = pipeline(kind, virtualStages, 4);
    model.groups = groupsOf(d);
    return lowerBoundSeconds(model, d, request);
  };
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::Interleaved, 2), 72 + 9 / 2.0);
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::OneForwardOneBackward, 1), 36 / (1 - 9 / 16.0));
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::ZeroBubbleV, 2), 72 + 2 / 2.0);
  // Of ZB-H1 stages of x and y s: 4 x = 4 y + 2 / 9 x, so that y is 17 / 18 x.
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::ZeroBubbleH1, 1), 4 * 36 / (1 + 17 / 18.0));
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::ZeroBubble2P, 1), 4 * 36 / (1 + 17 / 18.0));
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::VHalf, 2), 72 + 2 / 2.0);
  // Five layers: a stage has three of them.
  cells.chain.push_back(0);
  EXPECT_DOUBLE_EQ(bound(ScheduleKind::ZeroBubbleV, 2), 4 * 3 * 9);
}

// The mean stage of two holds 2 of 4 layers and 4 + 4 + 8 bytes of 100 parameters each, divided as ZeRO
// does, beside 50 bytes reserved.
TEST_F(StepByHand, MayFitWhereTheMeanStageDoes) {
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
  // What is cast as it is gathered does not rest: 4 bytes of gradient, 12 of master copy and states in 16 bits.
  SoftwareStack casting = ownStack();
  casting.castsGathered = true;
  CellPrecision whole = request.precision;
  request.precision = cellPrecision("bf16", "adamw", casting);
  EXPECT_EQ(least(d), 50 + 2 * 16 * 35);
  request.precision = cellPrecision("bf16", "adamw", ownStack());
  EXPECT_EQ(least(d), 50 + 2 * 18 * 35);
  request.precision = whole;
  d.offloadOptimizer = true;
  EXPECT_EQ(least(d), 50 + 2 * 8 * 35);
}

// Two stages of two layers, a hundred micro-batches: 100 x 18 s and a layer's 9 s on the way to the second one.
TEST_F(StepByHand, LeavesOutWhatIsTooSlowOnceItFits) {
  Decisions d = pipeline(ScheduleKind::OneForwardOneBackward, 1, 100);
  auto expectLeast = [&](double seconds) {
    estimate(d); // counts parameters
    EXPECT_TRUE(mayFitWithin(model, d, request, seconds * (1 + 1e-7)));
    EXPECT_FALSE(mayFitWithin(model, d, request, seconds * (1 - 1e-7)));
  };
  expectLeast(1809);
  // Of 300 bytes the transient leaves 293. Two micro-batches of two layers are 400, of which a layer frees
  // 2 x 40 in half a second; where it recomputes all, 2 x 90 in 2 s, and 90 more while it is computed again.
  request.memoryLimit = 300;
  d.recomputeMost = Recompute::Selective;
  expectLeast(100 * (18 + 107 / 80.0 * 0.5));
  d.recomputeMost = Recompute::Full;
  expectLeast(100 * (18 + 197 / 180.0 * 2));
  // Not even one layer.
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
