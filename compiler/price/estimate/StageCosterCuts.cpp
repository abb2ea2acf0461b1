// Cuts a model into stages.
#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/price/estimate/HostOffload.h"
#include "compiler/price/estimate/StageCoster.h"
#include "compiler/price/estimate/StageSplit.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace dtc {

size_t StageCoster::stageOf(size_t chunk) const {
  return static_cast<size_t>(
      stageOfChunk(d.schedule, static_cast<int>(d.pp), static_cast<int>(chunk)));
}

LayerChunks StageCoster::cut() const {
  int64_t layers = static_cast<int64_t>(model.cells->chain.size());
  int64_t chunks = d.pp * d.virtualStages;
  if (d.evenStages && chunks > 1)
    return cutEvenly(layers, chunks);
  // ZeRO from stage 2 on changes the times of layers; on heterogeneous devices memory matters, too.
  Decisions key = d;
  key.numMicroBatches = 1;
  if (devices.size() == 1) {
    key.zero = std::max<int64_t>(1, d.zero);
    key.recomputeMost = d.recompute;
    key.offloadOptimizer = false;
    if (d.layersOnHost != LayersOnHost::All) { // exposed copies depend on the passes beside them
      key.layersOnHost = LayersOnHost::None;
      key.schedule = {};
    }
  }
  LayerChunks &cut = known.cuts[restOf(KeptResult::Estimates, key)];
  if (!cut.empty())
    return cut;
  if (chunks == 1)
    return cut = {{0, layers - 1}};
  if (devices.size() > 1)
    return cut = cutOverDevices(layers, chunks);
  const StageDevice &at = devices.front();
  std::vector<double> seconds;
  for (int64_t layer = 0; layer < layers; ++layer)
    seconds.push_back(leastOf(at.timesOfLayer(layer)));
  return cut = cutChain(seconds, chunks, at.embedding.total(), at.head.total());
}

// A stage with one chunk of layers [first, last], extended layer by layer at its front. If all
// layers are equal it does not matter in which of the stage's chunks they are.
class StageCoster::GrowingRun {
public:
  explicit GrowingRun(const StageCoster &coster) : coster(coster), at(coster.devices.front()) {}

  // Returns the seconds of a micro-batch, with what layers have to recompute so that the stage
  // fits; infinite if it does not. Agrees with costStage and keepLessUntilItFits.
  double seconds(size_t stage, int64_t first, int64_t last) {
    if (stage != this->stage || last != this->last || first + 1 != this->first)
      start(stage, last);
    while (this->first > first)
      add(--this->first);
    return secondsThatFit();
  }

private:
  void start(size_t of, int64_t end) {
    stage = of;
    last = end;
    first = end + 1;
    sums = PartSums();
    for (size_t chunk : coster.chunksOn(stage))
      sums.sent += coster.sentAfter(chunk, last, at);
    plain = kept = embedding = 0;
    runs.clear();
    alive = coster.aliveOf(stage);
    if (stage == 0) {
      sums.add(coster.embeddingOf(at.model), false);
      plain += at.embedding.total();
      kept += embedding = coster.embeddingOf(at.model).kept;
    }
    if (coster.holdsHead(stage)) {
      sums.add(coster.headOf(at.model), false);
      sums.headKept = coster.headOf(at.model).kept;
      plain += at.head.total();
    }
    if (coster.sharesVocabulary()) {
      sums.add(at.model.vocabulary->share, false);
      sums.headKept += at.model.vocabulary->share.kept;
    }
  }

  void add(int64_t layer) {
    sums.addLayer(at.blockOf(layer), coster.leastWay());
    plain += coster.leastOf(at.timesOfLayer(layer));
    kept += keptBy(at.blockOf(layer), coster.leastWay());
    if (size_t block = at.blockIndex(layer); runs.empty() || runs.back().block != block)
      runs.push_back({block, 1});
    else
      ++runs.back().layers;
  }

  double secondsThatFit() const {
    double recomputed = embedding + sums.kept - kept;
    MemoryParts memory =
        coster.memoryOf(sums, at, alive, kept, recomputed, sums.largestWorkspace());
    // The first layers come first; they were taken in last.
    llvm::SmallVector<LayerRun, 4> inOrder(llvm::reverse(runs));
    double states = coster.d.offloadOptimizer
                        ? updateOnHost(at.ownOf(sums.dense, sums.expert), coster.request.precision,
                                       at.topology.device.hostShare())
                              .bytes
                        : 0;
    Overfull overfull{inOrder, at, alive, coster.hostRoomOf(states, at)};
    return plain + coster.mixedToFit(overfull, memory.total() - at.memoryLimit).seconds;
  }

  const StageCoster &coster;
  const StageDevice &at;
  size_t stage = 0;
  int64_t first = 0, last = -1;
  PartSums sums;
  double plain = 0, kept = 0, embedding = 0; // seconds, bytes, without recomputing more
  Alive alive;
  llvm::SmallVector<LayerRun, 4> runs; // the last first
};

// Returns true if stages of one chunk each are as equal as can be, but not those of several chunks:
// the usual cut has the fastest slowest chunk.
bool StageCoster::mayBalance(llvm::ArrayRef<StageEstimate> stages) const {
  if (d.virtualStages == 1 || !mayCutByMemory())
    return false;
  double slowest = 0;
  for (const StageEstimate &stage : stages)
    slowest = std::max(slowest, stage.microBatch());
  constexpr double rounding = 1 - 1e-9;
  return leastSlowest < slowest * rounding;
}

// Returns a cut whose slowest stage is faster, as it considers memory or the chunks that a stage
// has together; empty if that of `stages`, the usual cut, is as fast, or if no cut fits. Early
// stages keep more micro-batches alive and have to recompute more if memory is short: with fewer
// layers they are as fast as late ones. If layers have no choice (`mixes` is empty), only runs that
// fit as they are count.
LayerChunks StageCoster::cutByStages(llvm::ArrayRef<StageEstimate> stages) {
  if (mixes.empty() && d.mayKeepLess() && !recomputesEvenly())
    findMixes();
  double most = 0;
  bool fits = true;
  for (const StageEstimate &stage : stages) {
    most = std::max(most, stage.microBatch());
    fits &= stage.memory.total() <= stage.memoryLimit;
  }
  GrowingRun run(*this);
  auto layers = static_cast<int64_t>(model.cells->chain.size());
  double limit = fits ? most : std::numeric_limits<double>::infinity();
  if (d.virtualStages == 1) {
    auto seconds = [&](int64_t stage, int64_t first, int64_t last) {
      return run.seconds(static_cast<size_t>(stage), first, last);
    };
    return cutByRuns(layers, d.pp, seconds, limit);
  }
  auto seconds = [&](int64_t stage, int64_t count) {
    return request.ignoresMemory
               ? leastSecondsOf(static_cast<size_t>(stage), count)
               : run.seconds(static_cast<size_t>(stage), layers - count, layers - 1);
  };
  return chunksOf(shareOut(layers, leastLayersOfStages(), seconds, limit));
}

std::vector<int64_t> StageCoster::leastLayersOfStages() const {
  std::vector<int64_t> least;
  for (int64_t stage = 0; stage < d.pp; ++stage)
    least.push_back(leastLayersOf(static_cast<size_t>(stage)));
  return least;
}

double StageCoster::leastSecondsOf(size_t stage, int64_t layers) const {
  const StageDevice &at = devices.front();
  return (stage == 0 ? at.embedding.total() : 0) + (holdsHead(stage) ? at.head.total() : 0) +
         static_cast<double>(layers) * leastOf(at.timesOfLayer(0));
}

// Returns the seconds of the slowest stage in the best of all cuts. The usual cut, which ignores
// memory, has the fastest slowest chunk; with several chunks a stage another cut may have more
// equal stages.
double StageCoster::slowestOfAnyCut(llvm::ArrayRef<StageEstimate> usual) const {
  double slowest = 0;
  for (const StageEstimate &stage : usual)
    slowest = std::max(slowest, stage.microBatch());
  if (d.virtualStages == 1 || !mayCutByMemory())
    return slowest;
  auto seconds = [&](int64_t stage, int64_t layers) {
    return leastSecondsOf(static_cast<size_t>(stage), layers);
  };
  double best = 0;
  for (auto [stage, layers] : llvm::enumerate(
           shareOut(static_cast<int64_t>(model.cells->chain.size()), leastLayersOfStages(), seconds,
                    std::numeric_limits<double>::infinity())))
    best = std::max(best, seconds(static_cast<int64_t>(stage), layers));
  return std::min(slowest, best);
}

bool StageCoster::mayCutByMemory() const {
  return devices.size() == 1 && d.pp > 1 && !d.evenStages &&
         (d.virtualStages == 1 || llvm::all_equal(model.cells->chain));
}

llvm::SmallVector<size_t, 8> StageCoster::chunksOn(size_t stage) const {
  llvm::SmallVector<size_t, 8> chunks;
  for (size_t chunk = 0; chunk < static_cast<size_t>(d.pp * d.virtualStages); ++chunk)
    if (stageOf(chunk) == stage)
      chunks.push_back(chunk);
  return chunks;
}

// Returns the chunks of stages with so many layers, all equal, with seconds as equal as can be.
// Empty if there are no stages.
LayerChunks StageCoster::chunksOf(llvm::ArrayRef<int64_t> layersOfStages) const {
  const StageDevice &at = devices.front();
  size_t count = static_cast<size_t>(d.pp * d.virtualStages);
  std::vector<int64_t> sizes(count, 1);
  std::vector<double> seconds(count, 0);
  sizes.front() = mayBeginWithoutLayers() ? 0 : 1;
  sizes.back() = 0;
  seconds.front() = at.embedding.total();
  seconds.back() = at.head.total();
  double layer = leastOf(at.timesOfLayer(0));
  for (auto [stage, layers] : llvm::enumerate(layersOfStages)) {
    llvm::SmallVector<size_t, 8> held = chunksOn(stage);
    for (size_t chunk : held)
      seconds[chunk] += static_cast<double>(sizes[chunk]) * layer;
    int64_t left = layers;
    for (size_t chunk : held)
      left -= sizes[chunk];
    for (; left > 0; --left) {
      size_t shortest = *std::min_element(
          held.begin(), held.end(), [&](size_t a, size_t b) { return seconds[a] < seconds[b]; });
      ++sizes[shortest];
      seconds[shortest] += layer;
    }
  }
  LayerChunks chunks;
  int64_t next = 0;
  for (int64_t size : sizes) {
    chunks.emplace_back(next, next + size - 1);
    next += size;
  }
  return layersOfStages.empty() ? LayerChunks() : chunks;
}

LayerChunks StageCoster::cutOverDevices(int64_t layers, int64_t chunks) const {
  std::vector<ChunkDevices> list;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    size_t stage = stageOf(static_cast<size_t>(chunk));
    const StageDevice &at = kindOf(stage);
    ChunkDevices each;
    for (int64_t layer = 0; layer < layers; ++layer)
      each.seconds.push_back(leastOf(at.timesOfLayer(layer)));
    each.extra =
        (chunk == 0 ? at.embedding.total() : 0) + (chunk + 1 == chunks ? at.head.total() : 0);
    each.mostLayers = std::max<int64_t>(1, mostLayersOf(stage) / d.virtualStages);
    list.push_back(std::move(each));
  }
  LayerChunks cut = cutOverHeterogeneous(list);
  if (!cut.empty())
    return cut;
  for (ChunkDevices &each : list) // it does not fit, whatever the cut
    each.mostLayers = layers;
  return cutOverHeterogeneous(list);
}

// Returns how many of the largest layers a stage's memory holds, with the minimum of saved
// activations.
int64_t StageCoster::mostLayersOf(size_t stage) const {
  if (request.ignoresMemory)
    return std::numeric_limits<int64_t>::max();
  const StageDevice &at = kindOf(stage);
  double most = 1, transient = 0;
  Alive alive = aliveOf(stage);
  for (const BlockCost &block : at.model.blocks) {
    double kept = d.layersOnHost != LayersOnHost::None
                      ? 0
                      : keptOf(block, std::max(d.recompute, d.recomputeMost));
    double bytes =
        statesOf(block, at) +
        process.fragmentation * (alive.inFlight * kept + alive.stashed * (block.kept - kept));
    most = std::max(most, bytes);
    transient = std::max(transient, block.transient);
  }
  double room = at.memoryLimit - process.reserved - process.fragmentation * transient;
  return static_cast<int64_t>(std::clamp(room / most, 0.0, 1e9));
}

} // namespace dtc
