// Costs the stages of one set of decisions.
#include "compiler/estimate/StageCoster.h"

#include "compiler/estimate/Buckets.h"
#include "compiler/estimate/HostOffload.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace dtc {

StageCoster::StageCoster(const ModelCost &model, const Decisions &decisions,
                         const EstimateRequest &request)
    : model(model), d(decisions), request(request), overlap(model.cells->overlap),
      process(model.cells->process), known(request.shared ? request.shared->of(decisions) : own),
      shards(model.groups, d), dataRanks(static_cast<double>(d.zeroRanks() * d.cp)),
      expertRanks(std::max(1.0, dataRanks / static_cast<double>(d.ep))) {
  places.reserve(std::max<size_t>(1, model.kinds.size()));
  for (size_t kind = 0; kind < model.kinds.size(); ++kind) {
    const Topology &topology = model.places.kinds[kind];
    addPlace(model.kinds[kind], topology,
             request.isLimitOfDevice
                 ? request.usableShare * static_cast<double>(topology.device.memoryBytes)
                 : request.memoryLimit);
  }
  if (places.empty())
    addPlace(model, *request.topology, request.memoryLimit);
}

void StageCoster::addPlace(const ModelCost &cost, const Topology &topology, double memoryLimit) {
  Place &place = places.emplace_back(Place{cost, topology, places.size(), memoryLimit});
  place.embedding = timesOf(cost.embedding, place);
  place.head = timesOf(cost.head, place);
  for (const BlockCost &block : cost.blocks)
    place.blocks.push_back(timesOf(block, place));
}

double StageCoster::gatherSeconds(const BlockCost &block, double bytesPerParameter,
                                  CollectiveKind kind, const Place &place) const {
  double dense = block.denseParameters * bytesPerParameter,
         expert = block.expertParameters * bytesPerParameter;
  auto [it, isNew] = known.gathers.try_emplace({place.kind, kind, dense, expert}, 0.0);
  if (isNew)
    it->second = collectiveSeconds(kind, dense, shards.denseShards, place.topology) +
                 collectiveSeconds(kind, expert, shards.expertShards, place.topology);
  return it->second / model.cells->gatherShare;
}

StageCoster::PartTimes StageCoster::timesOf(const BlockCost &block, const Place &place) const {
  PartTimes times;
  double tp = 1 - overlap.tp, cp = 1 - overlap.cp, ep = 1 - overlap.ep;
  Exposed forward{tp * block.forwardTp, cp * block.forwardCp, ep * block.forwardEp, 0};
  Exposed backward{tp * block.backwardTp, cp * block.backwardCp, ep * block.backwardEp, 0};
  // What runs beside compute slows it.
  double slow = overlap.slowdown - 1;
  auto slowdown = [&](double tpAll, double cpAll, double epAll) {
    return slow * (overlap.tp * tpAll + overlap.cp * cpAll + overlap.ep * epAll);
  };
  double forwardCompute =
      block.forward + slowdown(block.forwardTp, block.forwardCp, block.forwardEp);
  double backwardSlow = slowdown(block.backwardTp, block.backwardCp, block.backwardEp);
  if (d.zero >= 2 && dataRanks > 1) {
    const CellPrecision &p = request.precision;
    double scatter = gatherSeconds(block, p.reduceBytes, CollectiveKind::ReduceScatter, place);
    double gather =
        d.zero >= 3 ? gatherSeconds(block, p.parameterBytes, CollectiveKind::AllGather, place) : 0;
    double hide = overlap.gathers;
    forward.gather = std::max(0.0, gather - hide * forwardCompute);
    // What is released after the forward pass is gathered for recomputation and once more after it.
    bool isTwice = model.cells->gathersAgain && d.recompute == Recompute::Full;
    double waits = scatter + (isTwice ? 2 : 1) * gather;
    double beside = block.backward() + (isTwice ? forwardCompute : 0);
    backward.gather = std::max(0.0, waits - hide * beside);
    forwardCompute += slow * (gather - forward.gather);
    backwardSlow += slow * (waits - backward.gather);
  }
  times.forward = forwardCompute + forward.tp + forward.cp + forward.ep + forward.gather;
  times.backwardInput = block.backwardInput + backwardSlow + backward.tp + backward.cp +
                        backward.ep + backward.gather;
  times.backwardWeight = block.backwardWeight;
  times.exposed = {forward.tp + backward.tp, forward.cp + backward.cp, forward.ep + backward.ep,
                   forward.gather + backward.gather};
  times.compute = forwardCompute + block.backward() + backwardSlow;
  times.recomputeSelective = block.selective;
  times.recomputeFull = forwardCompute + forward.tp + forward.cp + forward.ep;
  return times;
}

double StageCoster::leastSecondsOfModel() const {
  size_t lastStage = stageOf(static_cast<size_t>(d.pp * d.virtualStages - 1));
  double seconds = placeOf(0).embedding.total() + placeOf(lastStage).head.total();
  for (size_t layer = 0; layer < model.cells->chain.size(); ++layer) {
    double least = std::numeric_limits<double>::infinity();
    for (const Place &place : places)
      least = std::min(least, leastOf(place.timesOfLayer(static_cast<int64_t>(layer))));
    seconds += least;
  }
  return seconds;
}

double StageCoster::leastSecondsOfSlowestStage() const {
  auto layers = static_cast<int64_t>(model.cells->chain.size());
  if (layers == 0) // the whole model is one part
    return 0;
  double least = std::numeric_limits<double>::infinity();
  for (const Place &place : places)
    for (const PartTimes &times : place.blocks)
      least = std::min(least, leastOf(times));
  double most = static_cast<double>(llvm::divideCeil(layers, d.pp)) * least;
  if (places.size() == 1)
    return most;
  // Of unlike stages with n_s layers of t_s seconds the slowest takes L / sum of 1 / t_s at least.
  double layersPerSecond = 0;
  for (size_t stage = 0; stage < static_cast<size_t>(d.pp); ++stage) {
    double fastest = std::numeric_limits<double>::infinity();
    for (const PartTimes &times : placeOf(stage).blocks)
      fastest = std::min(fastest, leastOf(times));
    layersPerSecond += 1 / fastest;
  }
  return std::max(most, static_cast<double>(layers) / layersPerSecond);
}

double StageCoster::leastSecondsOfChunk(bool isDownOnly) const {
  if (d.evenStages || model.cells->chain.empty()) // the first and last chunk may have no layer
    return 0;
  double least = std::numeric_limits<double>::infinity();
  for (const Place &place : places)
    for (const PartTimes &times : place.blocks)
      least = std::min(least, isDownOnly ? times.forward : times.total());
  return least;
}

double StageCoster::leastForwardShare() const {
  double least = 1;
  for (const Place &place : places)
    for (const PartTimes &times : place.blocks)
      least = std::min(least, times.forward / leastOf(times));
  return least;
}

double StageCoster::leastSecondsOncePerStep() const {
  if (!d.offloadOptimizer)
    return 0;
  // No stage updates less than the mean; embedding and head share at most what is tied.
  double least = std::numeric_limits<double>::infinity();
  for (const Place &place : places) {
    auto shareOf = [&](const BlockCost &block) {
      return d.zero >= 1 ? block.denseParameters / dataRanks + block.expertParameters / expertRanks
                         : block.denseParameters + block.expertParameters;
    };
    double own = shareOf(place.model.embedding) + shareOf(place.model.head) -
                 model.tiedParameters / (d.zero >= 1 ? dataRanks : 1);
    for (size_t layer = 0; layer < model.cells->chain.size(); ++layer)
      own += shareOf(place.blockOf(static_cast<int64_t>(layer)));
    HostUpdate update = updateOnHost(own / static_cast<double>(d.pp), request.precision,
                                     place.topology.device.hostShare());
    least = std::min(least, update.updateSeconds);
  }
  return least;
}

double StageCoster::hostLimitOf(size_t index, const StageEstimate &stage) const {
  const DeviceKind &device = placeOf(index).topology.device;
  if (device.deviceClass == DeviceClass::Cpu) // one memory holds both
    return std::max(0.0, stage.memoryLimit - stage.memory.total());
  return device.host.isKnown() ? hostMemoryFor(device.host) : 0;
}

size_t StageCoster::stageOf(size_t chunk) const {
  return static_cast<size_t>(
      stageOfChunk(d.schedule, static_cast<int>(d.pp), static_cast<int>(chunk)));
}

LayerChunks StageCoster::cut() const {
  int64_t layers = static_cast<int64_t>(model.cells->chain.size());
  int64_t chunks = d.pp * d.virtualStages;
  if (d.evenStages && chunks > 1)
    return cutEvenly(layers, chunks);
  // ZeRO from stage 2 on changes the times of layers; on unlike devices memory matters, too.
  SharedEstimates::CutKey key{chunks, d.recompute, {}, std::max<int64_t>(1, d.zero), false, {}};
  if (places.size() > 1)
    key = {chunks, d.recompute, d.recomputeMost, d.zero, d.offloadOptimizer, d.schedule};
  LayerChunks &cut = known.cuts[key];
  if (!cut.empty())
    return cut;
  if (chunks == 1)
    return cut = {{0, layers - 1}};
  if (places.size() > 1)
    return cut = cutOverPlaces(layers, chunks);
  const Place &place = places.front();
  std::vector<double> seconds;
  for (int64_t layer = 0; layer < layers; ++layer)
    seconds.push_back(leastOf(place.timesOfLayer(layer)));
  return cut = cutChain(seconds, chunks, place.embedding.total(), place.head.total());
}

// Layers [first, last] as the only chunk of a stage, which takes in one layer before the others after
// another.
class StageCoster::GrowingRun {
public:
  explicit GrowingRun(const StageCoster &coster)
      : coster(coster), place(coster.places.front()), fragmentation(coster.process.fragmentation) {}

  // Seconds of a micro-batch, with as few layers that recompute more as let the stage fit; infinite
  // where it does not. As costStage and recomputeUntilItFits have it, without the rest.
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
    plain = kept = 0;
    inFlight = coster.inFlightOf(stage);
    if (stage == 0) {
      sums.add(place.model.embedding, false);
      plain += place.embedding.total();
      kept += place.model.embedding.kept;
    }
    if (stage + 1 == static_cast<size_t>(coster.d.pp)) {
      sums.add(place.model.head, false);
      sums.headKept = place.model.head.kept;
      plain += place.head.total();
    }
  }

  void add(int64_t layer) {
    sums.add(place.blockOf(layer), true);
    plain += coster.leastOf(place.timesOfLayer(layer));
    kept += coster.keptOf(place.blockOf(layer), coster.d.recompute);
  }

  double secondsThatFit() const {
    Recompute least = coster.d.recompute, most = coster.d.recomputeMost;
    double over = coster.memoryOf(sums, place, inFlight, kept, least == Recompute::Full).total() -
                  place.memoryLimit;
    double seconds = plain;
    if (over > 0 && least != Recompute::Full && most == Recompute::Full)
      over += fragmentation * sums.largestKept; // of the layer that is computed again
    for (int64_t layer = first; over > 0; ++layer) {
      if (layer > last)
        return std::numeric_limits<double>::infinity();
      const PartTimes &times = place.timesOfLayer(layer);
      const BlockCost &block = place.blockOf(layer);
      seconds += times.recomputeOf(most) - times.recomputeOf(least);
      over -= fragmentation * inFlight * (coster.keptOf(block, least) - coster.keptOf(block, most));
    }
    return seconds;
  }

  const StageCoster &coster;
  const Place &place;
  double fragmentation;
  size_t stage = 0;
  int64_t first = 0, last = -1;
  PartSums sums;
  double plain = 0, kept = 0, inFlight = 0; // seconds, bytes, without recomputing more
};

// Early stages keep more micro-batches alive, and have to recompute more where memory is short: with
// fewer layers they are as fast as late ones. Empty where `stages`, those of the usual cut, are as
// fast.
LayerChunks StageCoster::cutByMemory(llvm::ArrayRef<StageEstimate> stages) const {
  double most = 0;
  bool fits = true;
  for (const StageEstimate &stage : stages) {
    most = std::max(most, stage.microBatch());
    fits &= stage.memory.total() <= stage.memoryLimit;
  }
  GrowingRun run(*this);
  auto seconds = [&](int64_t stage, int64_t first, int64_t last) {
    return run.seconds(static_cast<size_t>(stage), first, last);
  };
  return cutByRuns(static_cast<int64_t>(model.cells->chain.size()), d.pp, seconds,
                   fits ? most : std::numeric_limits<double>::infinity());
}

LayerChunks StageCoster::cutOverPlaces(int64_t layers, int64_t chunks) const {
  std::vector<ChunkPlace> list;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    size_t stage = stageOf(static_cast<size_t>(chunk));
    const Place &place = placeOf(stage);
    ChunkPlace each;
    for (int64_t layer = 0; layer < layers; ++layer)
      each.seconds.push_back(leastOf(place.timesOfLayer(layer)));
    each.extra =
        (chunk == 0 ? place.embedding.total() : 0) + (chunk + 1 == chunks ? place.head.total() : 0);
    each.mostLayers = std::max<int64_t>(1, mostLayersOf(stage) / d.virtualStages);
    list.push_back(std::move(each));
  }
  LayerChunks cut = cutOverUnlike(list);
  if (!cut.empty())
    return cut;
  for (ChunkPlace &each : list) // it does not fit, whatever the cut
    each.mostLayers = layers;
  return cutOverUnlike(list);
}

// How many of the largest layers a stage's memory holds, with as little kept as is allowed.
int64_t StageCoster::mostLayersOf(size_t stage) const {
  const Place &place = placeOf(stage);
  const CellPrecision &p = request.precision;
  double most = 1, transient = 0;
  for (const BlockCost &block : place.model.blocks) {
    double kept = keptOf(block, std::max(d.recompute, d.recomputeMost));
    double whole = block.denseParameters + block.expertParameters;
    double part = block.denseParameters / dataRanks + block.expertParameters / expertRanks;
    double bytes = p.parameterBytes * (d.zero >= 3 ? part : whole) +
                   p.gradientBytes * (d.zero >= 2 ? part : whole) +
                   (d.offloadOptimizer ? 0 : p.optimizerBytes * (d.zero >= 1 ? part : whole)) +
                   process.fragmentation * inFlightOf(stage) * kept;
    most = std::max(most, bytes);
    transient = std::max(transient, block.transient);
  }
  double room = place.memoryLimit - process.reserved - process.fragmentation * transient;
  return static_cast<int64_t>(std::clamp(room / most, 0.0, 1e9));
}

double StageCoster::keptOf(const BlockCost &block, Recompute recompute) const {
  return recompute == Recompute::Full        ? block.input
         : recompute == Recompute::Selective ? block.keptSelective
                                             : block.kept;
}

void StageCoster::addPart(StageEstimate &stage, Exposed &waits, const BlockCost &block,
                          const PartTimes &times, Recompute recompute) const {
  double again = times.recomputeOf(recompute);
  stage.forward += times.forward;
  stage.backwardInput += times.backwardInput + again;
  stage.backwardWeight += times.backwardWeight;
  ChunkTimes &chunk = stage.chunkTimes.back();
  chunk.forward += times.forward;
  chunk.backwardInput += times.backwardInput + again;
  chunk.backwardWeight += times.backwardWeight;
  chunk.activationBytes += static_cast<int64_t>(keptOf(block, recompute));
  stage.computeSeconds += times.compute + again;
  stage.recomputeSeconds += again;
  stage.keptPerMicroBatch += keptOf(block, recompute);
  waits.tp += times.exposed.tp;
  waits.cp += times.exposed.cp;
  waits.ep += times.exposed.ep;
  waits.gather += times.exposed.gather;
  stage.exposedSeconds +=
      times.exposed.tp + times.exposed.cp + times.exposed.ep + times.exposed.gather;
}

std::vector<StageEstimate> StageCoster::stages() {
  std::vector<StageEstimate> stages = recomputedStages(cut());
  if (isCutByMemory)
    if (LayerChunks other = cutByMemory(stages); !other.empty())
      stages = recomputedStages(other);
  chooseExchange(stages);
  return stages;
}

std::vector<StageEstimate> StageCoster::recomputedStages(const LayerChunks &chunks) {
  std::vector<StageEstimate> stages =
      costStages(chunks, std::vector<Recompute>(model.cells->chain.size(), d.recompute));
  if (!d.mayRecomputeMore())
    return stages;
  if (d.evenRecompute) {
    recomputeEvenly(stages);
    return stages;
  }
  bool isFree = places.size() == 1 && d.pp > 1 && d.virtualStages == 1 && !d.evenStages;
  for (auto [index, stage] : llvm::enumerate(stages))
    if (recomputeUntilItFits(stage, placeOf(index)))
      isCutByMemory |= isFree;
  return stages;
}

std::vector<StageEstimate> StageCoster::stagesOf(const LayerChunks &chunks,
                                                 llvm::ArrayRef<Recompute> recompute) {
  std::vector<StageEstimate> stages = costStages(chunks, recompute);
  chooseExchange(stages);
  return stages;
}

std::vector<StageEstimate> StageCoster::costStages(const LayerChunks &chunks,
                                                   llvm::ArrayRef<Recompute> recompute) {
  std::vector<StageEstimate> stages(static_cast<size_t>(d.pp));
  exposed.assign(stages.size(), {});
  std::vector<llvm::SmallVector<size_t, 4>> held(stages.size());
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk)
    held[stageOf(chunk)].push_back(chunk);
  for (size_t index = 0; index < stages.size(); ++index)
    costStage(index, chunks, recompute, held[index], stages[index]);
  return stages;
}

void StageCoster::costStage(size_t index, const LayerChunks &chunks,
                            llvm::ArrayRef<Recompute> recompute, llvm::ArrayRef<size_t> held,
                            StageEstimate &stage) {
  std::vector<const BlockCost *> parts;
  int64_t layers = 0;
  for (size_t chunk : held)
    layers += chunks[chunk].second - chunks[chunk].first + 1;
  parts.reserve(static_cast<size_t>(layers) + 2);
  stage.chunks.reserve(held.size());
  stage.chunkTimes.reserve(held.size());
  Exposed &waits = exposed[index];
  const Place &place = placeOf(index);
  const ModelCost &cost = place.model;
  stage.memoryLimit = place.memoryLimit;
  for (size_t chunk : held) {
    stage.chunks.push_back(chunks[chunk]);
    stage.chunkTimes.emplace_back();
    if (chunk == 0) {
      addPart(stage, waits, cost.embedding, place.embedding, Recompute::None);
      parts.push_back(&cost.embedding);
    }
    for (int64_t layer = chunks[chunk].first; layer <= chunks[chunk].second; ++layer) {
      Recompute again = recompute[static_cast<size_t>(layer)];
      addPart(stage, waits, place.blockOf(layer), place.timesOfLayer(layer), again);
      parts.push_back(&place.blockOf(layer));
      stage.fullLayers += again == Recompute::Full;
      stage.selectiveLayers += again == Recompute::Selective;
    }
    if (chunk + 1 == chunks.size()) {
      addPart(stage, waits, cost.head, place.head, Recompute::None);
      parts.push_back(&cost.head);
      // The head's activations are alive for one micro-batch: its backward follows at once.
      stage.keptPerMicroBatch -= cost.head.kept;
    }
  }
  stage.inFlight = inFlightOf(index);
  addMemory(index, parts, stage);
  noteWithoutStates(stage);
}

// Where stages start to fit without the optimizer's states, they would stop to recompute more.
void StageCoster::noteWithoutStates(StageEstimate &stage) const {
  double bytes = stage.memory.total() - stage.memory.optimizer;
  if (std::isinf(stage.microBatchWithoutStates) && bytes <= stage.memoryLimit * (1 + 1e-9))
    stage.microBatchWithoutStates = stage.microBatch();
}

double StageCoster::inFlightOf(size_t index) const {
  InFlight chunks = inFlight(d.schedule, static_cast<int>(d.pp), static_cast<int>(d.virtualStages),
                             static_cast<int>(d.numMicroBatches), static_cast<int>(index));
  return static_cast<double>(chunks.activations) / static_cast<double>(d.virtualStages);
}

void StageCoster::PartSums::add(const BlockCost &part, bool isLayer) {
  dense += part.denseParameters;
  expert += part.expertParameters;
  summed += part.sharedGradients;
  transient = std::max(transient, part.transient);
  if (!isLayer)
    return;
  largestLayer = std::max(largestLayer, part.denseParameters + part.expertParameters);
  largestKept = std::max(largestKept, part.kept - part.input);
}

void StageCoster::addMemory(size_t index, const std::vector<const BlockCost *> &parts,
                            StageEstimate &stage) {
  const Place &place = placeOf(index);
  PartSums sums;
  for (const BlockCost *part : parts) {
    bool isHead = part == &place.model.head;
    sums.add(*part, !isHead && part != &place.model.embedding);
    if (isHead)
      sums.headKept = part->kept;
    // A matrix that embedding and head share is on both ends of a pipeline, once without one.
    if (isHead && index == 0)
      sums.dense -= model.tiedParameters;
  }
  stage.memory =
      memoryOf(sums, place, stage.inFlight, stage.keptPerMicroBatch, stage.fullLayers > 0);
  addOncePerStep(stage, sums.dense, sums.expert, sums.summed, place);
}

MemoryParts StageCoster::memoryOf(const PartSums &sums, const Place &place, double inFlight,
                                  double keptPerMicroBatch, bool isAnyFull) const {
  const CellPrecision &p = request.precision;
  auto shared = [&](double bytes, bool isSplit) {
    return bytes * (isSplit ? sums.dense / dataRanks + sums.expert / expertRanks
                            : sums.dense + sums.expert);
  };
  MemoryParts memory;
  memory.parameters = shared(p.parameterBytes, d.zero >= 3);
  if (d.zero >= 3 && dataRanks > 1)
    memory.parameters += 2 * sums.largestLayer * p.parameterBytes;
  memory.gradients = shared(p.gradientBytes, d.zero >= 2);
  // Of one layer they are whole while they are made, of the one before while they are on the wire.
  if (d.zero >= 2 && dataRanks > 1)
    memory.gradients += 2 * sums.largestLayer * p.reduceBytes;
  memory.optimizer = d.offloadOptimizer ? 0 : shared(p.optimizerBytes, d.zero >= 1);
  memory.activations = process.fragmentation * (inFlight * keptPerMicroBatch + sums.headKept);
  memory.temporaries =
      process.fragmentation * (sums.transient + (isAnyFull ? sums.largestKept : 0));
  double axes = (d.tp > 1) + (d.cp > 1) + (d.dp > 1) + (d.pp > 1) + (d.ep > 1);
  memory.communication = axes * process.perCommunicator;
  memory.reserved = process.reserved;
  return memory;
}

// Whether any layer has to.
bool StageCoster::recomputeUntilItFits(StageEstimate &stage, const Place &place) const {
  bool isAny = false;
  for (auto [index, chunk] : llvm::enumerate(stage.chunks))
    for (int64_t layer = chunk.first; layer <= chunk.second; ++layer) {
      noteWithoutStates(stage);
      if (stage.memory.total() <= place.memoryLimit)
        return isAny;
      recomputeMore(stage, place, index, layer);
      isAny = true;
    }
  noteWithoutStates(stage);
  return isAny;
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
          recomputeMore(stage, placeOf(number), chunk, layer);
          isDone = false;
        }
    }
  }
  for (StageEstimate &stage : stages)
    noteWithoutStates(stage);
}

void StageCoster::recomputeMore(StageEstimate &stage, const Place &place, size_t chunk,
                                int64_t layer) const {
  double fragmentation = process.fragmentation;
  const BlockCost &block = place.blockOf(layer);
  const PartTimes &times = place.timesOfLayer(layer);
  double less = keptOf(block, d.recompute) - keptOf(block, d.recomputeMost);
  double again = times.recomputeOf(d.recomputeMost) - times.recomputeOf(d.recompute);
  bool isFull = d.recomputeMost == Recompute::Full;
  if (isFull && stage.fullLayers == 0)
    stage.memory.temporaries += fragmentation * (block.kept - block.input);
  ++(isFull ? stage.fullLayers : stage.selectiveLayers);
  if (d.recompute == Recompute::Selective)
    --stage.selectiveLayers;
  stage.keptPerMicroBatch -= less;
  stage.memory.activations -= fragmentation * stage.inFlight * less;
  stage.backwardInput += again;
  stage.computeSeconds += again;
  stage.recomputeSeconds += again;
  stage.chunkTimes[chunk].backwardInput += again;
  stage.chunkTimes[chunk].activationBytes -= static_cast<int64_t>(less);
}

const std::vector<GradientExchange> &StageCoster::exchangesOf(double dense, double expert,
                                                              const Place &place) const {
  std::vector<GradientExchange> &exchanges = known.exchanges[{place.kind, d.zero, dense, expert}];
  if (exchanges.empty())
    for (int64_t bytes : request.bucketSizes)
      exchanges.push_back(
          exchangeIn(bytes, dense, expert, d.zero, shards, place.topology, request.precision));
  return exchanges;
}

// One of the ways in which the stage may exchange its gradients, once a step.
void StageCoster::addExchange(StageEstimate &stage, const GradientExchange &exchange,
                              double sums) const {
  double backward = hiddenPasses() * (stage.backwardInput + stage.backwardWeight);
  double forward = hiddenPasses() * stage.forward, reduce = exchange.reduce.all,
         gather = exchange.gather.all;
  double exposedReduce = exposedSeconds(exchange.reduce, backward);
  double exposedGather = exposedSeconds(exchange.gather, forward);
  if (d.virtualStages > 1) { // the first chunk's gather and the last one's reduction
    double chunk = 1 / static_cast<double>(d.virtualStages);
    exposedReduce = std::max(exposedReduce, chunk * reduce * (1 - overlap.gradients));
    exposedGather = std::max(exposedGather, chunk * gather * (1 - overlap.gradients));
  }
  double hidden = reduce + gather - exposedReduce - exposedGather;
  stage.exchanges.push_back({reduce + gather + sums, exposedReduce + exposedGather + sums +
                                                         (overlap.slowdown - 1) * hidden});
}

// With virtual stages the gradients of a chunk are done while the last micro-batches are still in
// the others.
double StageCoster::hiddenPasses() const {
  double passes = d.virtualStages > 1 ? static_cast<double>(std::min(d.pp, d.numMicroBatches)) : 1;
  return overlap.gradients * passes;
}

// What every micro-batch sends is costed block by block, beside compute: a bucket holds a layer's.
bool StageCoster::mayTravelIn(int64_t bucketBytes) const {
  if (d.zero < 2 || dataRanks == 1 || bucketBytes == kStackBuckets)
    return true;
  double largest = 0;
  for (const BlockCost &block : model.blocks)
    largest = std::max(
        largest, (block.denseParameters + block.expertParameters) *
                     std::max(request.precision.parameterBytes, request.precision.reduceBytes));
  // Of layers beyond all sizes the largest bucket holds most.
  bool isMost = llvm::none_of(request.bucketSizes, [&](int64_t bytes) {
    return bytes > bucketBytes && bytes != kOneBucket;
  });
  return bucketBytes != kOneBucket && (isMost || static_cast<double>(bucketBytes) >= largest);
}

// All stages take the way by which the last of them is done first. A later stage is done with its
// gradients while earlier ones still compute theirs.
void StageCoster::chooseExchange(std::vector<StageEstimate> &stages) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t way = 0; way < stages.front().exchanges.size(); ++way) {
    if (request.bucketSizes.size() > 1 && !mayTravelIn(request.bucketSizes[way]))
      continue;
    double slack = 0, most = 0;
    for (const StageEstimate &stage : stages) {
      most = std::max(most, stage.exchanges[way].exposedSeconds - slack);
      slack += stage.backwardInput / static_cast<double>(d.virtualStages);
    }
    if (most < least) {
      least = most;
      exchange = way;
    }
  }
  double slack = 0;
  for (StageEstimate &stage : stages) {
    stage.gradientSeconds = stage.exchanges[exchange].seconds;
    stage.exposedGradientSeconds = std::max(0.0, stage.exchanges[exchange].exposedSeconds - slack);
    slack += stage.backwardInput / static_cast<double>(d.virtualStages);
    stage.exchanges.clear();
  }
}

void StageCoster::addOncePerStep(StageEstimate &stage, double dense, double expert, double summed,
                                 const Place &place) const {
  const CellPrecision &p = request.precision;
  const Topology &topology = place.topology;
  // Tensor parallelism adds up what data parallelism has left of the gradients, once they are
  // complete.
  double sums = bucketedSeconds(CollectiveKind::AllReduce,
                                summed * p.reduceBytes / (d.zero >= 1 ? dataRanks : 1),
                                model.groups.tp, topology);
  for (const GradientExchange &each : exchangesOf(dense, expert, place))
    addExchange(stage, each, sums);
  double own = d.zero >= 1 ? dense / dataRanks + expert / expertRanks : dense + expert;
  // States, master copy and gradient are read, states and parameters written; the norm of the
  // gradients is one more pass over them.
  double bytes = 2 * p.optimizerBytes + 2 * p.gradientBytes + p.parameterBytes +
                 (p.parameterBytes == 4 ? 4 : 0);
  OpWork update;
  update.bytes = own * bytes;
  stage.optimizerSeconds = secondsOf(update, topology.device);
  HostUpdate onHost = updateOnHost(own, p, topology.device.hostShare());
  double behind = hiddenPasses() * (stage.backwardInput + stage.backwardWeight);
  stage.hostOptimizerSeconds = std::max(0.0, onHost.toHostSeconds - behind) + onHost.updateSeconds;
  if (d.offloadOptimizer) {
    stage.optimizerSeconds = stage.hostOptimizerSeconds;
    stage.hostBytes = onHost.bytes;
  }
}

} // namespace dtc
