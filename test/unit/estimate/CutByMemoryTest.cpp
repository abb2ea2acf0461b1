// Stages of several chunks that memory cuts, computed by hand.
#include "compiler/price/estimate/StepBounds.h"
#include "test/unit/estimate/RoundLayers.h"

namespace dtc {
namespace {

// Layers of 2 + 3 + 4 = 9 seconds that save 100 bytes, or of 10 bytes with 2 s of recomputation, on
// two stages of two chunks.
class CutByMemoryTest : public RoundLayers {
protected:
  CutByMemoryTest() {
    cells.chain.assign(6, 0);
    cells.recomputeMixes = {{Recompute::None, Recompute::Full}};
    layer().transient = 0;
    request.memoryLimit = 1e9;
    d = pipeline(ScheduleKind::Interleaved, 2, 4);
    d.recomputeMost = Recompute::Full;
  }

  StepEstimate estimate() { return RoundLayers::estimate(d); }
  static std::vector<int64_t> layersOf(const StepEstimate &step) {
    std::vector<int64_t> layers;
    for (size_t chunk : {0, 1})
      for (const StageEstimate &stage : step.stages)
        layers.push_back(stage.chunks[chunk].second - stage.chunks[chunk].first + 1);
    return layers;
  }

  Decisions d;
};

// Six layers are cut into four chunks. The usual cut looks at chunks alone, while stages of three
// layers each are the most equal. Both are kept if only the pipeline schedule decides which is
// faster.
TEST_F(CutByMemoryTest, StagesOfSeveralChunksAreAsEqualAsCanBe) {
  StepEstimate step = estimate();
  ASSERT_TRUE(step.otherCut);
  const StepEstimate &moved = step.isMoved ? step : *step.otherCut;
  const StepEstimate &usual = step.isMoved ? *step.otherCut : step;
  EXPECT_TRUE(moved.isMoved && !usual.isMoved && !moved.isCutByMemory);
  EXPECT_DOUBLE_EQ(step.leastSlowestSeconds, 3 * 9);
  EXPECT_DOUBLE_EQ(moved.stages[moved.slowestStage].microBatch(), 3 * 9);
  EXPECT_GT(usual.stages[usual.slowestStage].microBatch(), 3 * 9);
  model.head.forward = 9; // as long as a layer
  EXPECT_DOUBLE_EQ(estimate().leastSlowestSeconds, 4 * 9);
}

// The same holds without a limit of memory.
TEST_F(CutByMemoryTest, StagesAreAsEqualWhereMemoryIsIgnored) {
  request.ignoresMemory = true;
  request.memoryLimit = 1;
  StepEstimate step = estimate();
  ASSERT_TRUE(step.otherCut);
  const StepEstimate &moved = step.isMoved ? step : *step.otherCut;
  EXPECT_DOUBLE_EQ(moved.stages[moved.slowestStage].microBatch(), 3 * 9);
}

// More memory must not lead to a slower step: the cut has equal stages under a limit that the usual
// cut exceeds, and under one that it does not exceed.
TEST_F(CutByMemoryTest, MoreMemoryIsNoSlower) {
  double before = std::numeric_limits<double>::infinity();
  for (double limit = 200; limit < 3000; limit += 25) {
    request.memoryLimit = limit;
    StepEstimate step = estimate();
    if (!step.fits)
      continue;
    refineBySchedule(step, d);
    EXPECT_LE(step.stepSeconds, before * (1 + 1e-9)) << limit;
    before = step.stepSeconds;
  }
  EXPECT_LT(before, std::numeric_limits<double>::infinity());
}

// The first stage has more in flight: if it has to recompute, the other one has a layer more.
// Chunks are as equal as possible, with the head counted in the last.
TEST_F(CutByMemoryTest, MovesLayersFromWhereMoreIsInFlight) {
  cells.chain.assign(8, 0);
  model.head.forward = 9;
  request.memoryLimit = 900;
  StepEstimate step = estimate();
  ASSERT_TRUE(step.isMoved || step.otherCut);
  const StepEstimate &moved = step.isMoved ? step : *step.otherCut;
  const StepEstimate &usual = step.isMoved ? *step.otherCut : step;
  EXPECT_TRUE(moved.isMoved);
  EXPECT_FALSE(usual.isMoved);
  EXPECT_LT(moved.stages[moved.slowestStage].microBatch(),
            usual.stages[usual.slowestStage].microBatch());
  EXPECT_EQ(layersOf(moved), (std::vector<int64_t>{2, 3, 2, 1}));
}

// Under 1F1B the first of two stages has two micro-batches of its layers in flight, the second has
// one: 3 and 3 layers hold 600 and 300 bytes, 2 and 4 hold 400 each. If no layer may recompute,
// only the cut makes stages fit.
TEST_F(CutByMemoryTest, MovesLayersThatHaveNoChoice) {
  d = pipeline(ScheduleKind::OneForwardOneBackward, 1, 4);
  auto layers = [](const StepEstimate &step) {
    auto [first, last] = step.stages[0].chunks[0];
    return last - first + 1;
  };
  EXPECT_EQ(layers(estimate()), 3);
  request.memoryLimit = 450;
  StepEstimate step = estimate();
  EXPECT_EQ(layers(step), 2);
  EXPECT_TRUE(step.fits && step.isMoved && step.isCutByMemory);
  EXPECT_EQ(step.recomputeSeconds, 0);
  // ZeRO in groups needs more memory, so the slowest stage has at least as many layers in any cut.
  EXPECT_DOUBLE_EQ(step.leastSlowestThatFits, 4 * 9);
  d.zero = 1;
  EXPECT_NEAR(leastSecondsInGroups(step, d), 4 * (4 * 9) + step.optimizerSeconds, 1e-6);
  request.memoryLimit = 390;
  step = estimate();
  EXPECT_FALSE(step.fits);
  request.memoryLimit = 450;
  request.cutsToFit = false; // an even cut, as people make it
  step = estimate();
  EXPECT_EQ(layers(step), 3);
  EXPECT_FALSE(step.fits);
}

// No layer recomputes and no layer is moved if there is no limit.
TEST_F(CutByMemoryTest, DoesNothingForALimitThatIsLifted) {
  d = pipeline(ScheduleKind::OneForwardOneBackward, 1, 4);
  d.recomputeMost = Recompute::Full;
  StepEstimate roomy = estimate();
  request.memoryLimit = 450;
  request.ignoresMemory = true;
  StepEstimate step = estimate();
  EXPECT_FALSE(step.fits);
  EXPECT_EQ(step.recomputeSeconds, 0);
  EXPECT_EQ(step.stepSeconds, roomy.stepSeconds);
  EXPECT_EQ(step.stages[0].chunks, roomy.stages[0].chunks);
}

// The sent activations that a stage holds, of every chunk, are counted before layers are moved, so
// that no move is in vain.
TEST_F(CutByMemoryTest, CountsWhatEveryChunkHasSent) {
  cells.chain.assign(9, 0);
  cells.process.keepsSent = true;
  model.blocks[0].input = 40;
  model.head.forward = 9;
  int moved = 0;
  for (double limit = 700; limit < 2000; limit += 10) {
    request.memoryLimit = limit;
    StepEstimate step = estimate();
    if (!step.otherCut)
      continue;
    const StepEstimate &by = step.isMoved ? step : *step.otherCut;
    const StepEstimate &usual = step.isMoved ? *step.otherCut : step;
    EXPECT_TRUE(by.fits) << limit;
    EXPECT_LT(by.stages[by.slowestStage].microBatch(),
              usual.stages[usual.slowestStage].microBatch())
        << limit;
    ++moved;
  }
  EXPECT_GE(moved, 10);
}

} // namespace
} // namespace dtc
