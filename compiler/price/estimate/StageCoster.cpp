// Costs the stages of a cut.
#include "compiler/price/estimate/StageCoster.h"

#include "compiler/price/estimate/KeepLess.h"
#include "compiler/price/estimate/OncePerStep.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace dtc {

// Adds a layer, the embedding or the head to a stage.
static void addPart(StageEstimate &stage, ExposedSeconds &waits, const BlockCost &block,
                    const PartTimes &times, LayerWay way) {
  double again = times.recomputeOf(way.recompute), toHost = times.toHostOf(way),
         fromHost = times.fromHostOf(way);
  stage.forward += times.forward + toHost;
  stage.backwardInput += times.backwardInput + again + fromHost;
  stage.backwardWeight += times.backwardWeight;
  ChunkTimes &chunk = stage.chunkTimes.back();
  chunk.forward += times.forward + toHost;
  chunk.backwardInput += times.backwardInput + again + fromHost;
  chunk.backwardWeight += times.backwardWeight;
  chunk.activationBytes += static_cast<int64_t>(keptBy(block, way));
  stage.computeSeconds += times.compute + again;
  stage.recomputeSeconds += again;
  stage.hostSeconds += toHost + fromHost;
  stage.gatherSeconds += times.gathers;
  stage.keptPerMicroBatch += keptBy(block, way);
  if (way.isOnHost)
    stage.keptOnHost += keptOf(block, way.recompute);
  waits.tp += times.exposed.tp;
  waits.cp += times.exposed.cp;
  waits.ep += times.exposed.ep;
  waits.gather += times.exposed.gather;
  stage.exposedSeconds += times.exposed.tp + times.exposed.cp + times.exposed.ep +
                          times.exposed.gather + toHost + fromHost;
}

// Adds the share of the vocabulary to a stage.
static void addVocabulary(const StageInputs &in, const StageKind &at, StageEstimate &stage,
                          ExposedSeconds &waits) {
  const PartTimes &share = at.share;
  double slowed = (in.overlap.slowdown - 1) * at.model.vocabulary->collectives;
  stage.vocabularySeconds = share.total() + slowed;
  stage.computeSeconds += share.compute + slowed;
  waits.tp += share.exposed.tp;
  stage.exposedSeconds += share.exposed.tp;
}

// Returns true if two stages have equal layers with equal ways, chunk by chunk, and neither has the
// first or the last chunk.
static bool holdEqually(const StageInputs &in, llvm::ArrayRef<size_t> a, llvm::ArrayRef<size_t> b,
                        const LayerChunks &chunks, llvm::ArrayRef<LayerWay> ways) {
  auto isEnd = [&](size_t chunk) { return chunk == 0 || chunk + 1 == chunks.size(); };
  if (a.size() != b.size() || llvm::any_of(a, isEnd) || llvm::any_of(b, isEnd))
    return false;
  llvm::ArrayRef<int> chain = in.model.cells->chain;
  for (auto [one, other] : llvm::zip_equal(a, b)) {
    auto [first, last] = chunks[one];
    auto [from, to] = chunks[other];
    auto layers = static_cast<size_t>(last - first + 1);
    if (last - first != to - from || in.isSent(one) != in.isSent(other) ||
        chain.slice(first, layers) != chain.slice(from, layers) ||
        ways.slice(first, layers) != ways.slice(from, layers))
      return false;
  }
  return true;
}

namespace {

// The layers of a stage: the chunks of the whole model and the ways of its layers, and the chunks
// that the stage has.
struct HeldLayers {
  const LayerChunks &chunks;
  llvm::ArrayRef<LayerWay> ways;
  llvm::ArrayRef<size_t> held;
};

} // namespace

// Fills in all of `stage` but its memory, and its exposed seconds; returns the sums that the memory
// follows from.
static PartSums costStage(const StageInputs &in, size_t index, const HeldLayers &layers,
                          StageEstimate &stage, ExposedSeconds &waits) {
  const auto &[chunks, ways, held] = layers;
  PartSums sums;
  stage.chunks.reserve(held.size());
  stage.chunkTimes.reserve(held.size());
  const StageKind &at = in.kindOf(index);
  const ModelCost &cost = at.model;
  stage.memoryLimit = at.memoryLimit;
  for (size_t chunk : held) {
    stage.chunks.push_back(chunks[chunk]);
    stage.chunkTimes.emplace_back();
    if (chunk == 0) {
      addPart(stage, waits, embeddingOf(cost, in.d), at.embedding, LayerWay());
      sums.add(embeddingOf(cost, in.d), /*isLayer=*/false);
    }
    for (int64_t layer = chunks[chunk].first; layer <= chunks[chunk].second; ++layer) {
      LayerWay way = ways[static_cast<size_t>(layer)];
      addPart(stage, waits, at.blockOf(layer), at.timesOfLayer(layer), way);
      sums.addLayer(at.blockOf(layer), way);
      ++stage.layersBy[static_cast<size_t>(way.recompute)];
      stage.offloadedLayers += way.isOnHost;
    }
    if (chunk + 1 == chunks.size()) {
      addPart(stage, waits, headOf(at), at.head, LayerWay());
      sums.add(headOf(at), /*isLayer=*/false);
      // The head's activations are alive for one micro-batch: its backward follows at once.
      sums.headKept = headOf(at).kept;
      stage.keptPerMicroBatch -= headOf(at).kept;
      // A matrix shared by embedding and head is on the first and the last stage of a pipeline, but
      // counts once without one.
      if (index == 0)
        sums.takeTied(cost);
    }
    sums.sent += sentAfter(in, chunk, chunks[chunk].second, at);
  }
  if (in.sharesVocabulary()) {
    addVocabulary(in, at, stage, waits);
    sums.add(cost.vocabulary->share, /*isLayer=*/false);
    sums.headKept +=
        cost.vocabulary->share.kept; // T of a micro-batch comes right before S of the next one
  }
  addOncePerStep(in, sums, at, stage);
  return sums;
}

CostedStages costStages(const StageInputs &in, const LayerChunks &chunks,
                        llvm::ArrayRef<LayerWay> ways) {
  auto count = static_cast<size_t>(in.d.pp);
  CostedStages costed{std::vector<StageEstimate>(count), std::vector<ExposedSeconds>(count)};
  std::vector<StageEstimate> &stages = costed.stages;
  std::vector<llvm::SmallVector<size_t, 4>> held(count);
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk)
    held[in.stageOf(chunk)].push_back(chunk);
  // Most stages of a pipeline equal the one before, but for what they keep alive.
  auto holdsAsPrevious = [&](size_t index) {
    return index > 0 && in.isUniform() &&
           holdEqually(in, held[index - 1], held[index], chunks, ways);
  };
  PartSums sums;
  for (size_t index = 0; index < count; ++index) {
    StageEstimate &stage = stages[index];
    if (holdsAsPrevious(index)) {
      stage = stages[index - 1];
      costed.exposed[index] = costed.exposed[index - 1];
      stage.microBatchWithoutStates = std::numeric_limits<double>::infinity();
      for (auto [turn, chunk] : llvm::enumerate(held[index]))
        stage.chunks[turn] = chunks[chunk];
    } else {
      sums = costStage(in, index, {chunks, ways, held[index]}, stage, costed.exposed[index]);
    }
    addMemory(in, index, sums, stage);
    noteWithoutStates(stage);
  }
  return costed;
}

std::vector<StageEstimate> stagesOfCut(const StageInputs &in, const LayerChunks &chunks,
                                       llvm::ArrayRef<LayerWay> ways) {
  std::vector<StageEstimate> stages = costStages(in, chunks, ways).stages;
  chooseBuckets(in, stages);
  return stages;
}

double vocabularySeconds(const StageInputs &in) {
  if (!in.sharesVocabulary())
    return 0;
  double collectives = in.model.vocabulary->collectives,
         m = static_cast<double>(in.d.numMicroBatches);
  return m * (in.kinds.front().share.total() + (in.overlap.slowdown - 1) * collectives) +
         collectives;
}

} // namespace dtc
