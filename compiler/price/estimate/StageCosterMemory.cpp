// Computes the memory of stages, and recomputes layers so that they fit.
#include "compiler/price/estimate/StageCoster.h"
#include "compiler/price/memory/RepeatLayer.h"

#include "compiler/price/memory/ProgramMemory.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace dtc {

// The most micro-batches of a V's stage between B and W: three chunks (two a micro-batch) at most
// in simulated schedules of 4 stages and more, all that are alive of 2.
constexpr double kMostStashedOfV = 2;

double StageCoster::statesOf(const BlockCost &block, const StageDevice &at) const {
  const CellPrecision &p = request.precision;
  auto sum = [&](double dense, double expert, bool isSplit) {
    return isSplit ? dense / at.dataRanks + expert / at.expertRanks : dense + expert;
  };
  double whole = sum(block.denseParameters, block.expertParameters, false),
         part = sum(block.denseParameters, block.expertParameters, true);
  return p.frozenBytesAtRest(d.zero) * sum(block.frozenDense, block.frozenExpert, d.zero >= 3) +
         p.bytesAtRest(d.zero, d.offloadOptimizer) * (d.zero >= 3 ? part : whole) +
         p.gradientBytes * (d.zero >= 2 ? part : whole) +
         (d.offloadOptimizer ? 0 : p.optimizerBytes * (d.zero >= 1 ? part : whole));
}

// Notes when a stage first fits without the optimizer's states: it would stop to recompute more
// there.
void StageCoster::noteWithoutStates(StageEstimate &stage) const {
  double bytes = stage.memory.total() - stage.memory.optimizer;
  if (std::isinf(stage.microBatchWithoutStates) && bytes <= stage.memoryLimit * (1 + 1e-9))
    stage.microBatchWithoutStates = stage.microBatch();
}

StageCoster::Alive StageCoster::aliveOf(size_t index) const {
  InFlight chunks = inFlight(d.schedule, static_cast<int>(d.pp), static_cast<int>(d.virtualStages),
                             static_cast<int>(d.numMicroBatches), static_cast<int>(index));
  double all = static_cast<double>(d.virtualStages), m = static_cast<double>(d.numMicroBatches),
         inFlight = std::min(m, static_cast<double>(chunks.pending) / all +
                                    static_cast<double>(d.vocabBarriers())),
         late = static_cast<double>(chunks.pending - chunks.activations) / all;
  double stashed = isV(d.schedule) ? kMostStashedOfV : late + 1;
  return {inFlight, splitsBackward(d.schedule) ? std::min(inFlight, stashed) : 0, inputsOf(index)};
}

void StageCoster::PartSums::add(const BlockCost &part, bool isLayer) {
  dense += part.denseParameters;
  expert += part.expertParameters;
  frozenDense += part.frozenDense;
  frozenExpert += part.frozenExpert;
  summed += part.sharedGradients;
  transient = std::max(transient, part.transient);
  if (!isLayer) {
    embeddingAndHead += part.allDense() + part.allExpert();
    return;
  }
  kept += part.kept;
  largestLayer = std::max(largestLayer, part.allDense() + part.allExpert());
  largestTrained = std::max(largestTrained, part.denseParameters + part.expertParameters);
}

void StageCoster::PartSums::takeTied(const ModelCost &cost) {
  dense -= cost.tiedParameters;
  frozenDense -= cost.tiedFrozen;
  embeddingAndHead -= cost.tiedParameters + cost.tiedFrozen;
}

void StageCoster::PartSums::addLayer(const BlockCost &part, LayerWay way) {
  add(part, /*isLayer=*/true);
  ways.set(way.index());
  for (Recompute how : kRecomputes)
    for (LayerWay each : {LayerWay{how}, LayerWay{how, /*isOnHost=*/true}}) {
      double &most = workspace[each.index()];
      most = std::max(most, workspaceOf(part, each));
    }
}

double StageCoster::PartSums::largestWorkspace() const {
  double most = 0;
  for (auto [index, bytes] : llvm::enumerate(workspace))
    if (ways[index])
      most = std::max(most, bytes);
  return most;
}

// At the turn of a V one stage has both chunks, and sends nothing.
bool StageCoster::isSent(size_t chunk) const {
  return chunk + 1 < static_cast<size_t>(d.pp * d.virtualStages) &&
         stageOf(chunk) != stageOf(chunk + 1);
}

// The next stage holds the same bytes as its input; the sender drops them once they are sent, or
// keeps them.
double StageCoster::sentAfter(size_t chunk, int64_t layer, const StageDevice &at) const {
  return process.keepsSent && isSent(chunk) ? at.blockOf(std::max<int64_t>(0, layer)).input : 0;
}

double StageCoster::inputsOf(size_t index) const {
  if (!request.programs)
    return 0; // other software holds those of one micro-batch at a time
  InputBytes inputs = request.programs->inputsOf(samplesOf(d));
  return (index == 0 ? inputs.embedding : 0) + (holdsHead(index) ? inputs.head : 0);
}

void StageCoster::addMemory(size_t index, const PartSums &sums, StageEstimate &stage) const {
  const StageDevice &at = kindOf(index);
  Alive alive = aliveOf(index);
  stage.inFlight = alive.inFlight;
  stage.stashed = alive.stashed;
  double recomputed = index == 0 ? embeddingOf(at.model).kept : 0;
  recomputed += sums.kept - stage.keptPerMicroBatch;
  stage.hostBytes = stage.statesOnHost + (alive.inFlight - alive.stashed) * stage.keptOnHost;
  stage.memory =
      memoryOf(sums, at, alive, stage.keptPerMicroBatch, recomputed, sums.largestWorkspace());
}

MemoryParts StageCoster::memoryOf(const PartSums &sums, const StageDevice &at, Alive alive,
                                  double keptPerMicroBatch, double recomputedPerMicroBatch,
                                  double workspace) const {
  const CellPrecision &p = request.precision;
  auto sum = [&](double dense, double expert, bool isSplit) {
    return isSplit ? dense / at.dataRanks + expert / at.expertRanks : dense + expert;
  };
  auto shared = [&](double bytes, bool isSplit) {
    return bytes * sum(sums.dense, sums.expert, isSplit);
  };
  MemoryParts memory;
  memory.parameters =
      shared(p.bytesAtRest(d.zero, d.offloadOptimizer), d.zero >= 3) +
      p.frozenBytesAtRest(d.zero) * sum(sums.frozenDense, sums.frozenExpert, d.zero >= 3);
  double whole = process.wholeLayers * sums.largestLayer,
         embeddingAndHead = process.keepsEmbeddingAndHead ? sums.embeddingAndHead : 0;
  if (d.zero >= 3 && at.isShared())
    memory.parameters += (whole + embeddingAndHead) * p.parameterBytes;
  memory.gradients = shared(p.gradientBytes, d.zero >= 2);
  // Gradients are whole for one layer while they are computed and for the one before while they are
  // on the wire; those of parameters that stay gathered take as many bytes as these until the last
  // backward pass ends.
  if (d.zero >= 2 && at.isShared())
    memory.gradients += process.wholeLayers * sums.largestTrained * p.reduceBytes +
                        (d.zero >= 3 ? embeddingAndHead * p.parameterBytes : 0);
  memory.optimizer = d.offloadOptimizer ? 0 : shared(p.optimizerBytes, d.zero >= 1);
  memory.activations =
      process.fragmentation * (alive.inFlight * (keptPerMicroBatch + sums.sent) +
                               alive.stashed * recomputedPerMicroBatch + sums.headKept) +
      alive.inputs;
  memory.temporaries = process.fragmentation * (sums.transient + workspace);
  const Decisions &own = at.d;
  bool hasCopies = d.zero > 0 && own.zeroRanks() < own.dp; // groups of copies, which sum gradients
  // One group for the all-to-all, one for the ring.
  bool hasTwo = d.contextKind == ContextKind::Both;
  double axes =
      (own.tp > 1) + (d.cp > 1) + hasTwo + (own.dp > 1) + (d.pp > 1) + (d.ep > 1) + hasCopies;
  memory.communication = axes * process.perCommunicator;
  memory.reserved = process.reserved;
  return memory;
}

// Makes layers save less until the stage fits. Returns true if any layer has to.
bool StageCoster::keepLessUntilItFits(StageEstimate &stage, const StageDevice &at) const {
  noteWithoutStates(stage);
  double over = stage.memory.total() - at.memoryLimit;
  llvm::SmallVector<LayerRun, 4> runs = runsOf(stage, at);
  if (over <= 0 || runs.empty())
    return false;
  Alive alive{stage.inFlight, stage.stashed};
  Overfull overfull{runs, at, alive, hostRoomOf(stage.statesOnHost, at)};
  // The same as if the states' memory were free.
  if (std::isinf(stage.microBatchWithoutStates)) {
    double less = over - stage.memory.optimizer - 1e-9 * stage.memoryLimit;
    stage.microBatchWithoutStates = stage.microBatch() + mixedToFit(overfull, less).seconds;
  }
  Mixed mixed = mixedToFit(overfull, over);
  if (std::isinf(mixed.seconds)) // no mix fits: this one saves the least
    mixed = {{leastWay(), {d.recomputeMost}}, std::numeric_limits<int64_t>::max(), 0};
  int64_t left = mixed.high, layers = 0;
  for (auto [index, chunk] : llvm::enumerate(stage.chunks))
    for (int64_t layer = chunk.first; layer <= chunk.second; ++layer, ++layers)
      keepLess(stage, at, index, layer, left-- > 0 ? mixed.mix.high : mixed.mix.low);
  double after = 0;
  if (mixed.high > 0)
    after = workspaceOf(runs, at, mixed.mix.high);
  if (mixed.high < layers)
    after = std::max(after, workspaceOf(runs, at, mixed.mix.low));
  stage.memory.temporaries += process.fragmentation * (after - workspaceOf(runs, at, leastWay()));
  return true;
}

// Makes the n-th layer of every chunk recompute the most, for one n after another, until all stages
// fit.
void StageCoster::recomputeEvenly(std::vector<StageEstimate> &stages) const {
  auto isFull = [](const StageEstimate &stage) { return stage.memory.total() > stage.memoryLimit; };
  bool isDone = false;
  for (int64_t n = 0; !isDone && llvm::any_of(stages, isFull); ++n) {
    isDone = true;
    for (auto [number, stage] : llvm::enumerate(stages)) {
      noteWithoutStates(stage);
      for (size_t chunk = 0; chunk < stage.chunks.size(); ++chunk)
        if (int64_t layer = stage.chunks[chunk].first + n; layer <= stage.chunks[chunk].second) {
          const StageDevice &at = kindOf(number);
          LayerWay most{d.recomputeMost};
          llvm::SmallVector<LayerRun, 4> runs = runsOf(stage, at);
          if (stage.layersThat(d.recomputeMost) == 0)
            stage.memory.temporaries += process.fragmentation * (workspaceOf(runs, at, most) -
                                                                 workspaceOf(runs, at, leastWay()));
          keepLess(stage, at, chunk, layer, most);
          isDone = false;
        }
    }
  }
  for (StageEstimate &stage : stages)
    noteWithoutStates(stage);
}

void StageCoster::keepLess(StageEstimate &stage, const StageDevice &at, size_t chunk, int64_t layer,
                           LayerWay way) const {
  const BlockCost &block = at.blockOf(layer);
  const PartTimes &times = at.timesOfLayer(layer);
  const LayerWay least = leastWay();
  double less = keptBy(block, least) - keptBy(block, way);
  double again = times.recomputeOf(way.recompute) - times.recomputeOf(least.recompute);
  double toHost = times.toHostOf(way) - times.toHostOf(least),
         fromHost = times.fromHostOf(way) - times.fromHostOf(least);
  double onHost = (way.isOnHost ? keptOf(block, way.recompute) : 0) -
                  (least.isOnHost ? keptOf(block, least.recompute) : 0);
  double waiting = stage.inFlight - stage.stashed;
  --stage.layersBy[static_cast<size_t>(least.recompute)];
  ++stage.layersBy[static_cast<size_t>(way.recompute)];
  stage.layersOnHost += way.isOnHost - least.isOnHost;
  stage.keptPerMicroBatch -= less;
  stage.keptOnHost += onHost;
  stage.hostBytes += waiting * onHost;
  stage.memory.activations -= process.fragmentation * waiting * less;
  stage.forward += toHost;
  stage.backwardInput += again + fromHost;
  stage.computeSeconds += again;
  stage.recomputeSeconds += again;
  stage.hostSeconds += toHost + fromHost;
  stage.exposedSeconds += toHost + fromHost;
  ChunkTimes &part = stage.chunkTimes[chunk];
  part.forward += toHost;
  part.backwardInput += again + fromHost;
  part.activationBytes -= static_cast<int64_t>(less);
}

} // namespace dtc
