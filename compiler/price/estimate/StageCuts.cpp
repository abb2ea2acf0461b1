// Cuts a model into stages.
#include "compiler/price/estimate/StageCuts.h"
#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/price/cost/OpCost.h"

#include "compiler/decide/decisions/Decision.h"
#include "compiler/price/estimate/HostOffload.h"
#include "compiler/price/estimate/StageSplit.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace dtc {
namespace {

// Returns how many of the largest layers a stage's memory holds, with the minimum of saved
// activations.
int64_t mostLayersOf(const StageInputs &in, size_t stage) {
  if (in.request.ignoresMemory)
    return std::numeric_limits<int64_t>::max();
  const StageKind &at = in.kindOf(stage);
  double most = 1, transient = 0;
  MicroBatchesAlive alive = aliveOf(in, stage);
  for (const BlockCost &block : at.model.blocks) {
    double kept =
        in.d.offloadsLayers() ? 0 : keptOf(block, std::max(in.d.recompute, in.d.recomputeMost));
    double bytes =
        statesOf(in, block, at) +
        in.process.fragmentation * (alive.inFlight * kept + alive.stashed * (block.kept - kept));
    most = std::max(most, bytes);
    transient = std::max(transient, block.transient);
  }
  double room = at.memoryLimit - in.process.reserved - in.process.fragmentation * transient;
  return static_cast<int64_t>(std::clamp(room / most, 0.0, 1e9));
}

// Returns the cut over heterogeneous devices; it considers memory.
LayerChunks cutOverDevices(const StageInputs &in) {
  int64_t layers = in.layers(), chunks = in.chunks();
  std::vector<ChunkDevices> list;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    size_t stage = in.stageOf(static_cast<size_t>(chunk));
    const StageKind &at = in.kindOf(stage);
    ChunkDevices each;
    for (int64_t layer = 0; layer < layers; ++layer)
      each.seconds.push_back(in.leastOf(at.timesOfLayer(layer)));
    each.extra =
        (chunk == 0 ? at.embedding.total() : 0) + (chunk + 1 == chunks ? at.head.total() : 0);
    each.mostLayers = std::max<int64_t>(1, mostLayersOf(in, stage) / in.d.virtualStages);
    list.push_back(std::move(each));
  }
  LayerChunks cut = cutOverHeterogeneous(list);
  if (!cut.empty())
    return cut;
  for (ChunkDevices &each : list) // it does not fit, whatever the cut
    each.mostLayers = layers;
  return cutOverHeterogeneous(list);
}

std::vector<int64_t> leastLayersOfStages(const StageInputs &in) {
  std::vector<int64_t> least;
  for (int64_t stage = 0; stage < in.d.pp; ++stage)
    least.push_back(in.leastLayersOf(static_cast<size_t>(stage)));
  return least;
}

// Returns the seconds of a micro-batch on a stage with so many of equal layers, which save all that
// they may.
double leastSecondsOf(const StageInputs &in, size_t stage, int64_t layers) {
  const StageKind &at = in.kinds.front();
  return (stage == 0 ? at.embedding.total() : 0) + (in.holdsHead(stage) ? at.head.total() : 0) +
         static_cast<double>(layers) * in.leastOf(at.timesOfLayer(0));
}

// Returns the chunks of stages with so many layers, all equal, with seconds as equal as can be.
// Empty if there are no stages.
LayerChunks chunksOf(const StageInputs &in, llvm::ArrayRef<int64_t> layersOfStages) {
  const StageKind &at = in.kinds.front();
  size_t count = static_cast<size_t>(in.chunks());
  std::vector<int64_t> sizes(count, 1);
  std::vector<double> seconds(count, 0);
  sizes.front() = in.mayBeginWithoutLayers() ? 0 : 1;
  sizes.back() = 0;
  seconds.front() = at.embedding.total();
  seconds.back() = at.head.total();
  double layer = in.leastOf(at.timesOfLayer(0));
  for (auto [stage, layers] : llvm::enumerate(layersOfStages)) {
    llvm::SmallVector<size_t, 8> held = in.chunksOn(stage);
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

// A stage with one chunk of layers [first, last], extended layer by layer at its front. If all
// layers are equal it does not matter in which of the stage's chunks they are.
class GrowingRun {
public:
  GrowingRun(const StageInputs &in, const LayerMixes &mixes)
      : in(in), mixes(mixes), at(in.kinds.front()) {}

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
    for (size_t chunk : in.chunksOn(stage))
      sums.sent += sentAfter(in, chunk, last, at);
    plain = kept = embedding = 0;
    runs.clear();
    alive = aliveOf(in, stage);
    if (stage == 0) {
      sums.add(embeddingOf(at.model, in.d), false);
      plain += at.embedding.total();
      kept += embedding = embeddingOf(at.model, in.d).kept;
    }
    if (in.holdsHead(stage)) {
      sums.add(headOf(at), false);
      sums.headKept = headOf(at).kept;
      plain += at.head.total();
    }
    if (in.sharesVocabulary()) {
      sums.add(at.model.vocabulary->share, false);
      sums.headKept += at.model.vocabulary->share.kept;
    }
  }

  void add(int64_t layer) {
    sums.addLayer(at.blockOf(layer), in.leastWay());
    plain += in.leastOf(at.timesOfLayer(layer));
    kept += keptBy(at.blockOf(layer), in.leastWay());
    if (size_t block = at.blockIndex(layer); runs.empty() || runs.back().block != block)
      runs.push_back({block, 1});
    else
      ++runs.back().layers;
  }

  double secondsThatFit() const {
    double recomputed = embedding + sums.kept - kept;
    MemoryParts memory = memoryOf(in, sums, at, alive, {kept, recomputed, sums.largestWorkspace()});
    // The first layers come first; they were taken in last.
    llvm::SmallVector<EqualLayers, 4> inOrder(llvm::reverse(runs));
    double states = in.d.offloadOptimizer
                        ? updateOnHost(at.ownOf(sums.dense, sums.expert), in.request.precision,
                                       at.topology.device.hostShare())
                              .bytes
                        : 0;
    OverfullStage overfull{inOrder, at, alive, hostRoomOf(states, at)};
    return plain + mixes.toFit(overfull, memory.total() - at.memoryLimit).seconds;
  }

  const StageInputs &in;
  const LayerMixes &mixes;
  const StageKind &at;
  size_t stage = 0;
  int64_t first = 0, last = -1;
  PartSums sums;
  double plain = 0, kept = 0, embedding = 0; // seconds, bytes, without recomputing more
  MicroBatchesAlive alive;
  llvm::SmallVector<EqualLayers, 4> runs; // the last first
};

} // namespace

LayerChunks usualCut(const StageInputs &in) {
  int64_t layers = in.layers();
  int64_t chunks = in.chunks();
  if (in.d.evenStages && chunks > 1)
    return cutEvenly(layers, chunks);
  // ZeRO from stage 2 on changes the times of layers; on heterogeneous devices memory matters, too.
  Decisions key = in.d;
  key.numMicroBatches = 1;
  if (in.isUniform()) {
    key = key.keepingMost();
    key.zero = std::max<int64_t>(1, in.d.zero);
    key.offloadOptimizer = false;
    if (!key.offloadsLayers()) // exposed copies depend on the passes beside them
      key.schedule = {};
  }
  LayerChunks &cut = in.known.cuts[restOf(KeptResult::Estimates, key)];
  if (!cut.empty())
    return cut;
  if (chunks == 1)
    return cut = {{0, layers - 1}};
  if (!in.isUniform())
    return cut = cutOverDevices(in);
  const StageKind &at = in.kinds.front();
  std::vector<double> seconds;
  for (int64_t layer = 0; layer < layers; ++layer)
    seconds.push_back(in.leastOf(at.timesOfLayer(layer)));
  return cut = cutChain(seconds, chunks, at.embedding.total(), at.head.total());
}

bool mayBalance(const StageInputs &in, llvm::ArrayRef<StageEstimate> stages, double leastSlowest) {
  if (in.d.virtualStages == 1 || !in.mayCutByMemory())
    return false;
  double slowest = 0;
  for (const StageEstimate &stage : stages)
    slowest = std::max(slowest, stage.microBatch());
  constexpr double rounding = 1 - 1e-9;
  return leastSlowest < slowest * rounding;
}

// The usual cut, which ignores memory, has the fastest slowest chunk; with several chunks a stage
// another cut may have more equal stages.
double slowestOfAnyCut(const StageInputs &in, llvm::ArrayRef<StageEstimate> usual) {
  double slowest = 0;
  for (const StageEstimate &stage : usual)
    slowest = std::max(slowest, stage.microBatch());
  if (in.d.virtualStages == 1 || !in.mayCutByMemory())
    return slowest;
  auto seconds = [&](int64_t stage, int64_t layers) {
    return leastSecondsOf(in, static_cast<size_t>(stage), layers);
  };
  double best = 0;
  for (auto [stage, layers] : llvm::enumerate(shareOut(
           in.layers(), leastLayersOfStages(in), seconds, std::numeric_limits<double>::infinity())))
    best = std::max(best, seconds(static_cast<int64_t>(stage), layers));
  return std::min(slowest, best);
}

LayerChunks cutByStages(const StageInputs &in, const LayerMixes &mixes,
                        llvm::ArrayRef<StageEstimate> stages) {
  double most = 0;
  bool fits = true;
  for (const StageEstimate &stage : stages) {
    most = std::max(most, stage.microBatch());
    fits &= stage.memory.total() <= stage.memoryLimit;
  }
  GrowingRun run(in, mixes);
  auto layers = in.layers();
  double limit = fits ? most : std::numeric_limits<double>::infinity();
  if (in.d.virtualStages == 1) {
    auto seconds = [&](int64_t stage, int64_t first, int64_t last) {
      return run.seconds(static_cast<size_t>(stage), first, last);
    };
    return cutByRuns(layers, in.d.pp, seconds, limit);
  }
  auto seconds = [&](int64_t stage, int64_t count) {
    return in.request.ignoresMemory
               ? leastSecondsOf(in, static_cast<size_t>(stage), count)
               : run.seconds(static_cast<size_t>(stage), layers - count, layers - 1);
  };
  return chunksOf(in, shareOut(layers, leastLayersOfStages(in), seconds, limit));
}

} // namespace dtc
