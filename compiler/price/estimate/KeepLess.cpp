// Makes layers of a stage save fewer bytes until the stage fits.
#include "compiler/price/estimate/KeepLess.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtc {

void noteWithoutStates(StageEstimate &stage) {
  double bytes = stage.memory.total() - stage.memory.optimizer;
  if (std::isinf(stage.microBatchWithoutStates) && bytes <= stage.memoryLimit * (1 + 1e-9))
    stage.microBatchWithoutStates = stage.microBatch();
}

// Makes one layer of a chunk use a way.
static void keepLess(const StageInputs &in, StageEstimate &stage, const StageKind &at, size_t chunk,
                     int64_t layer, LayerWay way) {
  const BlockCost &block = at.blockOf(layer);
  const PartTimes &times = at.timesOfLayer(layer);
  const LayerWay least = in.leastWay();
  double less = keptBy(block, least) - keptBy(block, way);
  double again = times.recomputeOf(way.recompute) - times.recomputeOf(least.recompute);
  double toHost = times.toHostOf(way) - times.toHostOf(least),
         fromHost = times.fromHostOf(way) - times.fromHostOf(least);
  double onHost = (way.isOnHost ? keptOf(block, way.recompute) : 0) -
                  (least.isOnHost ? keptOf(block, least.recompute) : 0);
  double waiting = stage.inFlight - stage.stashed;
  --stage.layersBy[static_cast<size_t>(least.recompute)];
  ++stage.layersBy[static_cast<size_t>(way.recompute)];
  stage.offloadedLayers += way.isOnHost - least.isOnHost;
  stage.keptPerMicroBatch -= less;
  stage.keptOnHost += onHost;
  stage.hostBytes += waiting * onHost;
  stage.memory.activations -= in.process.fragmentation * waiting * less;
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

bool keepLessUntilItFits(const StageInputs &in, const LayerMixes &mixes, const StageKind &at,
                         StageEstimate &stage) {
  noteWithoutStates(stage);
  double over = stage.memory.total() - at.memoryLimit;
  llvm::SmallVector<EqualLayers, 4> runs = runsOf(stage, at);
  if (over <= 0 || runs.empty())
    return false;
  MicroBatchesAlive alive{stage.inFlight, stage.stashed};
  OverfullStage overfull{runs, at, alive, hostRoomOf(stage.statesOnHost, at)};
  // The same as if the states' memory were free.
  if (std::isinf(stage.microBatchWithoutStates)) {
    double less = over - stage.memory.optimizer - 1e-9 * stage.memoryLimit;
    stage.microBatchWithoutStates = stage.microBatch() + mixes.toFit(overfull, less).seconds;
  }
  FittingMix mixed = mixes.toFit(overfull, over);
  if (std::isinf(mixed.seconds)) // no mix fits: this one saves the least
    mixed = {{in.leastWay(), {in.d.recomputeMost}}, std::numeric_limits<int64_t>::max(), 0};
  int64_t left = mixed.high, layers = 0;
  for (auto [index, chunk] : llvm::enumerate(stage.chunks))
    for (int64_t layer = chunk.first; layer <= chunk.second; ++layer, ++layers)
      keepLess(in, stage, at, index, layer, left-- > 0 ? mixed.mix.high : mixed.mix.low);
  double after = 0;
  if (mixed.high > 0)
    after = workspaceOf(runs, at, mixed.mix.high);
  if (mixed.high < layers)
    after = std::max(after, workspaceOf(runs, at, mixed.mix.low));
  stage.memory.temporaries +=
      in.process.fragmentation * (after - workspaceOf(runs, at, in.leastWay()));
  return true;
}

void recomputeEvenly(const StageInputs &in, std::vector<StageEstimate> &stages) {
  auto isFull = [](const StageEstimate &stage) { return stage.memory.total() > stage.memoryLimit; };
  bool isDone = false;
  for (int64_t n = 0; !isDone && llvm::any_of(stages, isFull); ++n) {
    isDone = true;
    for (auto [number, stage] : llvm::enumerate(stages)) {
      noteWithoutStates(stage);
      for (size_t chunk = 0; chunk < stage.chunks.size(); ++chunk)
        if (int64_t layer = stage.chunks[chunk].first + n; layer <= stage.chunks[chunk].second) {
          const StageKind &at = in.kindOf(number);
          LayerWay most{in.d.recomputeMost};
          llvm::SmallVector<EqualLayers, 4> runs = runsOf(stage, at);
          if (stage.layersThat(in.d.recomputeMost) == 0)
            stage.memory.temporaries +=
                in.process.fragmentation *
                (workspaceOf(runs, at, most) - workspaceOf(runs, at, in.leastWay()));
          keepLess(in, stage, at, chunk, layer, most);
          isDone = false;
        }
    }
  }
  for (StageEstimate &stage : stages)
    noteWithoutStates(stage);
}

} // namespace dtc
