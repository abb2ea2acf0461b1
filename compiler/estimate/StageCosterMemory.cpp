// What stages hold, and what they recompute so as to hold less.
#include "compiler/estimate/StageCoster.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace dtc {

// Micro-batches of a V's stage between B and W: three chunks of two at most in simulated schedules of 4 stages and
// more, all that are alive of 2.
constexpr double kMostStashedOfV = 2;

// Of what is cheap no more than the op at hand reads.
double StageCoster::workspaceOf(const BlockCost &block, Recompute recompute) {
  return recompute <= Recompute::Selective ? 0 : block.kept - keptOf(block, recompute);
}

double StageCoster::workspaceOf(const StageEstimate &stage, const Place &place,
                                Recompute recompute) const {
  double most = 0;
  for (auto [first, last] : stage.chunks)
    for (int64_t layer = first; layer <= last; ++layer)
      most = std::max(most, workspaceOf(place.blockOf(layer), recompute));
  return most;
}

double StageCoster::statesOf(double dense, double expert) const {
  const CellPrecision &p = request.precision;
  double whole = dense + expert, part = dense / dataRanks + expert / expertRanks;
  return p.bytesAtRest(d.zero, d.offloadOptimizer) * (d.zero >= 3 ? part : whole) +
         p.gradientBytes * (d.zero >= 2 ? part : whole) +
         (d.offloadOptimizer ? 0 : p.optimizerBytes * (d.zero >= 1 ? part : whole));
}

// Where stages start to fit without the optimizer's states, they would stop to recompute more.
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
  return {inFlight, splitsBackward(d.schedule) ? std::min(inFlight, stashed) : 0};
}

void StageCoster::PartSums::add(const BlockCost &part, bool isLayer) {
  dense += part.denseParameters;
  expert += part.expertParameters;
  summed += part.sharedGradients;
  transient = std::max(transient, part.transient);
  if (!isLayer) {
    ends += part.denseParameters + part.expertParameters;
    return;
  }
  kept += part.kept;
  largestLayer = std::max(largestLayer, part.denseParameters + part.expertParameters);
  for (Recompute how : kRecomputes) {
    double &most = workspace[static_cast<size_t>(how)];
    most = std::max(most, workspaceOf(part, how));
  }
}

// In a V the stage at its turn has both chunks.
bool StageCoster::isSent(size_t chunk) const {
  return chunk + 1 < static_cast<size_t>(d.pp * d.virtualStages) &&
         stageOf(chunk) != stageOf(chunk + 1);
}

// The next stage holds it as its input; the one before drops the same bytes once they are sent, or does not.
double StageCoster::sentAfter(size_t chunk, int64_t layer, const Place &place) const {
  return process.keepsSent && isSent(chunk) ? place.blockOf(std::max<int64_t>(0, layer)).input : 0;
}

void StageCoster::addMemory(size_t index, const PartSums &sums, StageEstimate &stage) const {
  const Place &place = placeOf(index);
  Alive alive = aliveOf(index);
  stage.inFlight = alive.inFlight;
  stage.stashed = alive.stashed;
  double recomputed = index == 0 ? embeddingOf(place.model).kept : 0;
  recomputed += sums.kept - stage.keptPerMicroBatch;
  double workspace = 0;
  for (Recompute how : kRecomputes)
    if (stage.layersThat(how) > 0)
      workspace = std::max(workspace, sums.workspace[static_cast<size_t>(how)]);
  stage.memory = memoryOf(sums, place, alive, stage.keptPerMicroBatch, recomputed, workspace);
}

MemoryParts StageCoster::memoryOf(const PartSums &sums, const Place &place, Alive alive,
                                  double keptPerMicroBatch, double recomputedPerMicroBatch,
                                  double workspace) const {
  const CellPrecision &p = request.precision;
  auto shared = [&](double bytes, bool isSplit) {
    return bytes * (isSplit ? sums.dense / dataRanks + sums.expert / expertRanks
                            : sums.dense + sums.expert);
  };
  MemoryParts memory;
  memory.parameters = shared(p.bytesAtRest(d.zero, d.offloadOptimizer), d.zero >= 3);
  double whole = process.wholeLayers * sums.largestLayer, ends = process.keepsEnds ? sums.ends : 0;
  if (d.zero >= 3 && isShared)
    memory.parameters += (whole + ends) * p.parameterBytes;
  memory.gradients = shared(p.gradientBytes, d.zero >= 2);
  // Of one layer they are whole while they are made, of the one before while they are on the wire; those of what
  // stays gathered are as its parameters until the last backward pass ends.
  if (d.zero >= 2 && isShared)
    memory.gradients += whole * p.reduceBytes + (d.zero >= 3 ? ends * p.parameterBytes : 0);
  memory.optimizer = d.offloadOptimizer ? 0 : shared(p.optimizerBytes, d.zero >= 1);
  memory.activations =
      process.fragmentation * (alive.inFlight * (keptPerMicroBatch + sums.sent) +
                               alive.stashed * recomputedPerMicroBatch + sums.headKept);
  memory.temporaries = process.fragmentation * (sums.transient + workspace);
  bool hasCopies = d.zero > 0 && d.zeroRanks() < d.dp; // of groups, which add gradients up
  bool hasTwo = d.contextKind == ContextKind::Both;    // a group that swaps, and a ring
  double axes = (d.tp > 1) + (d.cp > 1) + hasTwo + (d.dp > 1) + (d.pp > 1) + (d.ep > 1) + hasCopies;
  memory.communication = axes * process.perCommunicator;
  memory.reserved = process.reserved;
  return memory;
}

// Whether any layer has to.
bool StageCoster::recomputeUntilItFits(StageEstimate &stage, const Place &place) const {
  noteWithoutStates(stage);
  double over = stage.memory.total() - place.memoryLimit;
  llvm::SmallVector<LayerRun, 4> runs = runsOf(stage, place);
  if (over <= 0 || runs.empty())
    return false;
  Alive alive{stage.inFlight, stage.stashed};
  auto workspace = [&](Recompute how) { return workspaceOf(stage, place, how); };
  // If the states' memory were free.
  if (std::isinf(stage.microBatchWithoutStates)) {
    double less = over - stage.memory.optimizer - 1e-9 * stage.memoryLimit;
    stage.microBatchWithoutStates =
        stage.microBatch() + mixedToFit(runs, place, alive, workspace, less).seconds;
  }
  Mixed mixed = mixedToFit(runs, place, alive, workspace, over);
  if (std::isinf(mixed.seconds)) // nothing does: what is kept is least so
    mixed = {{d.recompute, d.recomputeMost}, std::numeric_limits<int64_t>::max(), 0};
  double before = workspace(d.recompute);
  int64_t left = mixed.high;
  for (auto [index, chunk] : llvm::enumerate(stage.chunks))
    for (int64_t layer = chunk.first; layer <= chunk.second; ++layer)
      recomputeMore(stage, place, index, layer, left-- > 0 ? mixed.mix.high : mixed.mix.low);
  double after = 0;
  for (Recompute how : kRecomputes)
    if (stage.layersThat(how) > 0)
      after = std::max(after, workspace(how));
  stage.memory.temporaries += process.fragmentation * (after - before);
  return true;
}

// The n-th layer of every chunk does, for one n after another, until all stages fit.
void StageCoster::recomputeEvenly(std::vector<StageEstimate> &stages) const {
  auto isFull = [](const StageEstimate &stage) { return stage.memory.total() > stage.memoryLimit; };
  bool isDone = false;
  for (int64_t n = 0; !isDone && llvm::any_of(stages, isFull); ++n) {
    isDone = true;
    for (auto [number, stage] : llvm::enumerate(stages)) {
      noteWithoutStates(stage);
      for (size_t chunk = 0; chunk < stage.chunks.size(); ++chunk)
        if (int64_t layer = stage.chunks[chunk].first + n; layer <= stage.chunks[chunk].second) {
          if (stage.layersThat(d.recomputeMost) == 0)
            stage.memory.temporaries +=
                process.fragmentation * (workspaceOf(stage, placeOf(number), d.recomputeMost) -
                                         workspaceOf(stage, placeOf(number), d.recompute));
          recomputeMore(stage, placeOf(number), chunk, layer, d.recomputeMost);
          isDone = false;
        }
    }
  }
  for (StageEstimate &stage : stages)
    noteWithoutStates(stage);
}

void StageCoster::recomputeMore(StageEstimate &stage, const Place &place, size_t chunk,
                                int64_t layer, Recompute how) const {
  const BlockCost &block = place.blockOf(layer);
  const PartTimes &times = place.timesOfLayer(layer);
  double less = keptOf(block, d.recompute) - keptOf(block, how);
  double again = times.recomputeOf(how) - times.recomputeOf(d.recompute);
  --stage.layersBy[static_cast<size_t>(d.recompute)];
  ++stage.layersBy[static_cast<size_t>(how)];
  stage.keptPerMicroBatch -= less;
  stage.memory.activations -= process.fragmentation * (stage.inFlight - stage.stashed) * less;
  stage.backwardInput += again;
  stage.computeSeconds += again;
  stage.recomputeSeconds += again;
  stage.chunkTimes[chunk].backwardInput += again;
  stage.chunkTimes[chunk].activationBytes -= static_cast<int64_t>(less);
}

} // namespace dtc
