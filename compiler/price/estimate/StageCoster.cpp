// Costs the stages of one set of decisions.
#include "compiler/price/estimate/StageCoster.h"

#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/price/estimate/Buckets.h"
#include "compiler/price/estimate/HostOffload.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace dtc {

// Returns the work of an update, which reads states, master copy and gradient and writes states and
// parameters; the norm of the gradients is one more pass over them.
static OpWork updateOf(double parameters, const CellPrecision &p) {
  double bytes = 2 * p.optimizerBytes + 2 * p.gradientBytes + p.parameterBytes +
                 (p.parameterBytes == 4 ? 4 : 0);
  OpWork update;
  update.bytes = parameters * bytes;
  return update;
}

StageCoster::StageCoster(const ModelCost &model, const Decisions &decisions,
                         const EstimateRequest &request)
    : model(model), d(decisions), request(request), overlap(model.overlap),
      process(model.cells->process), sizes(request.bucketSizesOf(d)),
      known(request.shared ? request.shared->of(decisions) : own) {
  assert((!sharesVocabulary() || (model.vocabulary && model.kinds.empty())) &&
         "stages share out vocabularies that costModel has divided, on alike devices");
  assert((d.layersOnHost != LayersOnHost::All || !d.mayRecomputeMore()) &&
         "layers that are all on the host all recompute the same");
  devices.reserve(std::max<size_t>(1, model.kinds.size()));
  for (size_t kind = 0; kind < model.kinds.size(); ++kind) {
    const Topology &topology = model.devices.kinds[kind];
    addPlace(model.kinds[kind], topology,
             request.isLimitOfDevice
                 ? request.usableShare * static_cast<double>(topology.device.memoryBytes)
                 : request.memoryLimit,
             d.onPart(model.devices.whereOfKind[kind].first));
  }
  if (devices.empty())
    addPlace(model, *request.topology, request.memoryLimit, d);
}

void StageCoster::addPlace(const ModelCost &cost, const Topology &topology, double memoryLimit,
                           const Decisions &decisions) {
  StageDevice &at =
      devices.emplace_back(StageDevice{cost, topology, devices.size(), memoryLimit, decisions});
  at.embedding = timesOf(embeddingOf(cost), at);
  at.head = timesOf(headOf(cost), at);
  if (sharesVocabulary())
    at.share = timesOf(cost.vocabulary->share, at);
  for (const BlockCost &block : cost.blocks)
    at.blocks.push_back(timesOf(block, at));
}

double StageCoster::gatherSeconds(const BlockCost &block, double bytesPerParameter,
                                  CollectiveKind kind, const StageDevice &at) const {
  bool isOfGradients = kind == CollectiveKind::ReduceScatter; // frozen parameters have none
  double dense = (isOfGradients ? block.denseParameters : block.allDense()) * bytesPerParameter,
         expert = (isOfGradients ? block.expertParameters : block.allExpert()) * bytesPerParameter;
  auto [it, isNew] = known.gathers.try_emplace({at.kind, kind, dense, expert}, 0.0);
  if (isNew)
    it->second = collectiveSeconds(kind, dense, at.shards.denseShards, at.topology) +
                 collectiveSeconds(kind, expert, at.shards.expertShards, at.topology);
  return it->second / model.cells->gatherShare;
}

StageCoster::PartTimes StageCoster::timesOf(const BlockCost &block, const StageDevice &at) const {
  PartTimes times;
  const Overlap &overlap = at.model.overlap; // the group may lie on other links
  double tp = 1 - overlap.tp, cp = 1 - overlap.cp, ep = 1 - overlap.ep;
  Exposed forward{tp * block.forwardTp, cp * block.forwardCp + block.forwardHeads,
                  ep * block.forwardEp, 0};
  Exposed backward{tp * block.backwardTp, cp * block.backwardCp + block.backwardHeads,
                   ep * block.backwardEp, 0};
  // Collectives beside compute slow it.
  double slow = overlap.slowdown - 1;
  auto slowdown = [&](double tpAll, double cpAll, double epAll) {
    return slow * (overlap.tp * tpAll + overlap.cp * cpAll + overlap.ep * epAll);
  };
  double forwardCompute =
      block.forward + slowdown(block.forwardTp, block.forwardCp, block.forwardEp);
  double backwardSlow = slowdown(block.backwardTp, block.backwardCp, block.backwardEp);
  if (d.zero >= 2 && at.isShared()) {
    const CellPrecision &p = request.precision;
    double scatter = gatherSeconds(block, p.reduceBytes, CollectiveKind::ReduceScatter, at);
    double gather =
        d.zero >= 3 ? gatherSeconds(block, p.parameterBytes, CollectiveKind::AllGather, at) : 0;
    double hide = overlap.gathers;
    forward.gather = std::max(0.0, gather - hide * forwardCompute);
    // Parameters that were released after the forward pass are gathered for recomputation and once
    // more after it.
    bool isTwice = model.cells->gathersAgain && d.recompute == Recompute::Full;
    double waits = scatter + (isTwice ? 2 : 1) * gather;
    double beside = block.backward() + (isTwice ? forwardCompute : 0);
    backward.gather = std::max(0.0, waits - hide * beside);
    forwardCompute += slow * (gather - forward.gather);
    backwardSlow += slow * (waits - backward.gather);
    double exposed = forward.gather + backward.gather;
    times.gathers = exposed + slow * (gather + waits - exposed);
  }
  times.forward = forwardCompute + forward.tp + forward.cp + forward.ep + forward.gather;
  times.backwardInput = block.backwardInput + backwardSlow + backward.tp + backward.cp +
                        backward.ep + backward.gather;
  times.backwardWeight = block.backwardWeight;
  times.exposed = {forward.tp + backward.tp, forward.cp + backward.cp, forward.ep + backward.ep,
                   forward.gather + backward.gather};
  times.compute = forwardCompute + block.backward() + backwardSlow;
  auto waitsOf = [&](const AgainCollectives &again) {
    return tp * again.tp + cp * again.cp + again.heads + ep * again.ep +
           slowdown(again.tp, again.cp, again.ep);
  };
  auto recompute = [&](Recompute how) -> double & {
    return times.recompute[static_cast<size_t>(how)];
  };
  recompute(Recompute::Selective) = block.selective + waitsOf(block.selectiveCollectives);
  for (auto [index, partial] : llvm::enumerate(block.partial))
    recompute(partialAt(index)) = partial.compute + waitsOf(partial.collectives);
  if (block.runsBackward)
    recompute(Recompute::Full) =
        forwardCompute - block.unread + forward.tp + forward.cp + forward.ep;
  if (d.layersOnHost != LayersOnHost::None)
    addCopies(block, at.topology.device.hostShare(), times);
  return times;
}

// Adds copies to and from the host. Activations leave while their layer and the next one run, and
// are back before the backward pass, beside that of the layer behind: layers are equal. Both
// directions of the link are free for them.
void StageCoster::addCopies(const BlockCost &block, const HostShare &host, PartTimes &times) const {
  if (!host.isKnown())
    return;
  for (Recompute how : kRecomputes) {
    auto index = static_cast<size_t>(how);
    double copy = hostCopySeconds(keptOf(block, how), host);
    double backward = times.backwardInput + times.recompute[index] +
                      (splitsBackward(d.schedule) ? 0 : times.backwardWeight);
    times.toHost[index] = std::max(0.0, copy - times.forward);
    times.fromHost[index] = std::max(0.0, copy - backward);
  }
}

double StageCoster::leastOfModel(llvm::function_ref<double(const PartTimes &)> ofPart,
                                 llvm::function_ref<double(const PartTimes &)> ofLayer) const {
  size_t lastStage = stageOf(static_cast<size_t>(d.pp * d.virtualStages - 1));
  double seconds = ofPart(kindOf(0).embedding) + ofPart(kindOf(lastStage).head);
  llvm::SmallVector<double, 8> least(devices.front().blocks.size(),
                                     std::numeric_limits<double>::infinity());
  for (const StageDevice &at : devices)
    for (auto [block, times] : llvm::enumerate(at.blocks))
      least[block] = std::min(least[block], ofLayer(times));
  for (int block : model.cells->chain)
    seconds += least[static_cast<size_t>(block)];
  return seconds;
}

double StageCoster::leastSecondsOfModel() const {
  return leastOfModel([](const PartTimes &part) { return part.total(); },
                      [&](const PartTimes &layer) { return leastOf(layer); });
}

double StageCoster::leastSecondsOfPath() const {
  return leastOfModel(
      [](const PartTimes &part) { return part.total() - part.backwardWeight; },
      [&](const PartTimes &layer) { return leastOf(layer) - layer.backwardWeight; });
}

double StageCoster::leastSecondsOfSlowestStage() const {
  auto layers = static_cast<int64_t>(model.cells->chain.size());
  if (layers == 0) // the whole model is one part
    return 0;
  double least = std::numeric_limits<double>::infinity();
  for (const StageDevice &at : devices)
    for (const PartTimes &times : at.blocks)
      least = std::min(least, leastOf(times));
  return static_cast<double>(llvm::divideCeil(layers, d.pp)) * least;
}

// A stage with n_s layers of t_s seconds, and e_s of embedding and head, starts after the way b_s
// down to it and, but for gradients of weights, ends before the way up: T >= b_s + m (n_s t_s +
// e_s). The n_s add up to all layers L, so
//   T >= (L + sum of (b_s / m + e_s) / t_s) / sum of 1 / (m t_s)
double StageCoster::leastSecondsOverDevices() const {
  if (devices.size() == 1 || model.cells->chain.empty())
    return 0;
  double m = static_cast<double>(d.numMicroBatches), perSecond = 0,
         layers = static_cast<double>(model.cells->chain.size());
  for (size_t stage = 0; stage < static_cast<size_t>(d.pp); ++stage) {
    const StageDevice &at = kindOf(stage);
    double fastest = std::numeric_limits<double>::infinity();
    for (const PartTimes &times : at.blocks)
      fastest = std::min(fastest, leastOf(times));
    double embeddingAndHead =
        (stage == 0 ? at.embedding.total() : 0) + (holdsHead(stage) ? at.head.total() : 0);
    double before = leastSecondsBefore(static_cast<int64_t>(stage), splitsBackward(d.schedule));
    perSecond += 1 / (m * fastest);
    layers += (before / m + embeddingAndHead) / fastest;
  }
  return layers / perSecond * (1 - 1e-9); // sums in another order differ in their last bits
}

// The embedding and s chunks are before stage s > 0; the first chunk may be the embedding alone.
double StageCoster::leastSecondsBefore(int64_t stage, bool isDownOnly) const {
  if (stage == 0 || d.evenStages || model.cells->chain.empty()) // any chunk may have no layer
    return 0;
  auto secondsOf = [&](const PartTimes &times) {
    return isDownOnly ? times.forward : times.total();
  };
  double layer = std::numeric_limits<double>::infinity();
  for (const StageDevice &at : devices)
    for (const PartTimes &times : at.blocks)
      layer = std::min(layer, secondsOf(times));
  auto layers = static_cast<double>(stage - mayBeginWithoutLayers());
  return secondsOf(kindOf(0).embedding) + layers * layer;
}

double StageCoster::meanLeastSecondsBefore(bool isDownOnly) const {
  // Stages 1 to p - 1 form an arithmetic series; stage 0 has nothing before it.
  return static_cast<double>(d.pp - 1) / static_cast<double>(d.pp) *
         (leastSecondsBefore(1, isDownOnly) + leastSecondsBefore(d.pp - 1, isDownOnly)) / 2;
}

double StageCoster::leastForwardShare() const {
  double least = 1;
  for (const StageDevice &at : devices)
    for (const PartTimes &times : at.blocks)
      least = std::min(least, leastForwardOf(times) / leastOf(times));
  return least;
}

double StageCoster::vocabularySeconds() const {
  if (!sharesVocabulary())
    return 0;
  double collectives = model.vocabulary->collectives, m = static_cast<double>(d.numMicroBatches);
  return m * (devices.front().share.total() + (overlap.slowdown - 1) * collectives) + collectives;
}

double StageCoster::leastSecondsOncePerStep() const {
  return d.offloadOptimizer ? leastHostUpdateSeconds() : 0;
}

double StageCoster::leastHostUpdateSeconds() const {
  double least = std::numeric_limits<double>::infinity(), own = leastOwnOfMeanStage();
  for (const StageDevice &at : devices)
    least = std::min(
        least, updateOnHost(own, request.precision, at.topology.device.hostShare()).updateSeconds);
  return least;
}

// Embedding and head share at most the tied parameters.
double StageCoster::leastOwnOfMeanStage() const {
  double own = 0;
  auto add = [&](double times, llvm::function_ref<double(const StageDevice &)> ofKind) {
    double least = std::numeric_limits<double>::infinity();
    for (const StageDevice &at : devices)
      least = std::min(least, ofKind(at));
    own += times * least;
  };
  auto shareOf = [](const StageDevice &at, const BlockCost &block) {
    return at.ownOf(block.denseParameters, block.expertParameters);
  };
  add(1, [&](const StageDevice &at) { return shareOf(at, at.model.embedding); });
  add(1, [&](const StageDevice &at) {
    return shareOf(at, at.model.head) - at.ownOf(at.model.tiedParameters, 0);
  });
  for (auto [block, layers] : llvm::enumerate(layersOfBlocks()))
    add(layers,
        [&, block = block](const StageDevice &at) { return shareOf(at, at.model.blocks[block]); });
  return own / static_cast<double>(d.pp) *
         (1 - 1e-9); // sums in another order differ in their last bits
}

llvm::SmallVector<double, 4> StageCoster::layersOfBlocks() const {
  llvm::SmallVector<double, 4> layers(model.blocks.size(), 0);
  for (int block : model.cells->chain)
    ++layers[static_cast<size_t>(block)];
  return layers;
}

double StageCoster::leastUpdateSeconds() const {
  if (d.offloadOptimizer)
    return leastSecondsOncePerStep();
  double least = std::numeric_limits<double>::infinity(), own = leastOwnOfMeanStage();
  for (const StageDevice &at : devices)
    least = std::min(least, secondsOf(updateOf(own, request.precision), at.topology.device));
  return least;
}

double StageCoster::hostLimitOf(size_t index, const StageEstimate &stage) const {
  const DeviceKind &device = kindOf(index).topology.device;
  if (device.deviceClass == DeviceClass::Cpu) // one memory holds both
    return std::max(0.0, stage.memoryLimit - stage.memory.total());
  return device.host.isKnown() ? hostMemoryFor(device.host) : 0;
}

void StageCoster::addPart(StageEstimate &stage, Exposed &waits, const BlockCost &block,
                          const PartTimes &times, LayerWay way) const {
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

void StageCoster::addVocabulary(StageEstimate &stage, Exposed &waits, const StageDevice &at) const {
  const PartTimes &share = at.share;
  double slowed = (overlap.slowdown - 1) * at.model.vocabulary->collectives;
  stage.vocabularySeconds = share.total() + slowed;
  stage.computeSeconds += share.compute + slowed;
  waits.tp += share.exposed.tp;
  stage.exposedSeconds += share.exposed.tp;
}

std::vector<StageEstimate> StageCoster::stages(bool mayMove) {
  std::vector<StageEstimate> stages = recomputedStages(cut());
  if (mayMove && (isCutByMemory || mayBalance(stages)))
    if (LayerChunks other = cutByStages(stages); !other.empty()) {
      stages = recomputedStages(other);
      hasMoved = true;
    }
  // With several chunks a stage, another cut than the usual one may have the fastest slowest stage.
  if (isCutByMemory && (hasMoved || d.virtualStages == 1) && !recomputesEvenly())
    for (const StageEstimate &stage : stages)
      slowestThatFits = std::max(slowestThatFits, stage.microBatch());
  chooseExchange(stages);
  return stages;
}

std::vector<StageEstimate> StageCoster::recomputedStages(const LayerChunks &chunks) {
  std::vector<StageEstimate> stages =
      costStages(chunks, std::vector<LayerWay>(model.cells->chain.size(), leastWay()));
  if (leastSlowest == 0 && devices.size() == 1) // only for the first cut
    leastSlowest = slowestOfAnyCut(stages);
  if (request.ignoresMemory)
    return stages;
  auto isOver = [](const StageEstimate &stage) { return stage.memory.total() > stage.memoryLimit; };
  // Another cut may fit without more recomputation, or with fewer layers that recompute.
  if (!d.mayKeepLess() || recomputesEvenly()) {
    isCutByMemory |= request.cutsToFit && mayCutByMemory() && llvm::any_of(stages, isOver);
    if (d.mayKeepLess())
      recomputeEvenly(stages);
    return stages;
  }
  if (mixes.empty() && llvm::any_of(stages, isOver))
    findMixes();
  for (auto [index, stage] : llvm::enumerate(stages))
    if (keepLessUntilItFits(stage, kindOf(index)))
      isCutByMemory |= mayCutByMemory();
  return stages;
}

std::vector<StageEstimate> StageCoster::stagesOf(const LayerChunks &chunks,
                                                 llvm::ArrayRef<LayerWay> ways) {
  std::vector<StageEstimate> stages = costStages(chunks, ways);
  chooseExchange(stages);
  return stages;
}

std::vector<StageEstimate> StageCoster::costStages(const LayerChunks &chunks,
                                                   llvm::ArrayRef<LayerWay> ways) {
  std::vector<StageEstimate> stages(static_cast<size_t>(d.pp));
  exposed.assign(stages.size(), {});
  std::vector<llvm::SmallVector<size_t, 4>> held(stages.size());
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk)
    held[stageOf(chunk)].push_back(chunk);
  // Most stages of a pipeline equal the one before, but for what they keep alive.
  auto holdsAsPrevious = [&](size_t index) {
    return index > 0 && devices.size() == 1 &&
           holdEqually(held[index - 1], held[index], chunks, ways);
  };
  PartSums sums;
  for (size_t index = 0; index < stages.size(); ++index) {
    StageEstimate &stage = stages[index];
    if (holdsAsPrevious(index)) {
      stage = stages[index - 1];
      exposed[index] = exposed[index - 1];
      stage.microBatchWithoutStates = std::numeric_limits<double>::infinity();
      for (auto [turn, chunk] : llvm::enumerate(held[index]))
        stage.chunks[turn] = chunks[chunk];
    } else {
      sums = costStage(index, chunks, ways, held[index], stage);
    }
    addMemory(index, sums, stage);
    noteWithoutStates(stage);
  }
  return stages;
}

// Returns true if two stages have equal layers with equal ways, chunk by chunk, and neither has the
// first or the last chunk.
bool StageCoster::holdEqually(llvm::ArrayRef<size_t> a, llvm::ArrayRef<size_t> b,
                              const LayerChunks &chunks, llvm::ArrayRef<LayerWay> ways) const {
  auto isEnd = [&](size_t chunk) { return chunk == 0 || chunk + 1 == chunks.size(); };
  if (a.size() != b.size() || llvm::any_of(a, isEnd) || llvm::any_of(b, isEnd))
    return false;
  llvm::ArrayRef<int> chain = model.cells->chain;
  for (auto [one, other] : llvm::zip_equal(a, b)) {
    auto [first, last] = chunks[one];
    auto [from, to] = chunks[other];
    auto layers = static_cast<size_t>(last - first + 1);
    if (last - first != to - from || isSent(one) != isSent(other) ||
        chain.slice(first, layers) != chain.slice(from, layers) ||
        ways.slice(first, layers) != ways.slice(from, layers))
      return false;
  }
  return true;
}

StageCoster::PartSums StageCoster::costStage(size_t index, const LayerChunks &chunks,
                                             llvm::ArrayRef<LayerWay> ways,
                                             llvm::ArrayRef<size_t> held, StageEstimate &stage) {
  PartSums sums;
  stage.chunks.reserve(held.size());
  stage.chunkTimes.reserve(held.size());
  Exposed &waits = exposed[index];
  const StageDevice &at = kindOf(index);
  const ModelCost &cost = at.model;
  stage.memoryLimit = at.memoryLimit;
  for (size_t chunk : held) {
    stage.chunks.push_back(chunks[chunk]);
    stage.chunkTimes.emplace_back();
    if (chunk == 0) {
      addPart(stage, waits, embeddingOf(cost), at.embedding, LayerWay());
      sums.add(embeddingOf(cost), /*isLayer=*/false);
    }
    for (int64_t layer = chunks[chunk].first; layer <= chunks[chunk].second; ++layer) {
      LayerWay way = ways[static_cast<size_t>(layer)];
      addPart(stage, waits, at.blockOf(layer), at.timesOfLayer(layer), way);
      sums.addLayer(at.blockOf(layer), way);
      ++stage.layersBy[static_cast<size_t>(way.recompute)];
      stage.layersOnHost += way.isOnHost;
    }
    if (chunk + 1 == chunks.size()) {
      addPart(stage, waits, headOf(cost), at.head, LayerWay());
      sums.add(headOf(cost), /*isLayer=*/false);
      // The head's activations are alive for one micro-batch: its backward follows at once.
      sums.headKept = headOf(cost).kept;
      stage.keptPerMicroBatch -= headOf(cost).kept;
      // A matrix shared by embedding and head is on the first and the last stage of a pipeline, but
      // counts once without one.
      if (index == 0) {
        sums.takeTied(cost);
      }
    }
    sums.sent += sentAfter(chunk, chunks[chunk].second, at);
  }
  if (sharesVocabulary()) {
    addVocabulary(stage, waits, at);
    sums.add(cost.vocabulary->share, /*isLayer=*/false);
    sums.headKept +=
        cost.vocabulary->share.kept; // T of a micro-batch comes right before S of the next one
  }
  addOncePerStep(stage, sums.dense, sums.expert, sums.summed, at);
  return sums;
}

const std::vector<GradientExchange> &StageCoster::exchangesOf(double dense, double expert,
                                                              const StageDevice &at) const {
  std::vector<GradientExchange> &exchanges = known.exchanges[{at.kind, d.zero, dense, expert}];
  if (exchanges.empty())
    for (int64_t bytes : sizes)
      exchanges.push_back(
          exchangeIn(bytes, dense, expert, d.zero, at.shards, at.topology, request.precision));
  return exchanges;
}

// Adds the cost of the stage's gradient collectives in one bucket size, once a step.
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

// Returns the passes that hide gradients. Virtual stages complete the gradients of a chunk while
// the last micro-batches are still in the others.
double StageCoster::hiddenPasses() const {
  double passes = d.virtualStages > 1 ? static_cast<double>(std::min(d.pp, d.numMicroBatches)) : 1;
  return overlap.gradients * passes;
}

// Returns true if gradients may travel in buckets of this size. Collectives of every micro-batch
// (ZeRO-2 and 3) are costed block by block, beside compute, so that a bucket has to hold a layer's.
bool StageCoster::mayTravelIn(int64_t bucketBytes) const {
  if (d.zero < 2 || bucketBytes == kStackBuckets)
    return true;
  double largest = 0;
  for (const StageDevice &at : devices)
    for (const BlockCost &block : at.model.blocks)
      if (at.isShared())
        largest = std::max(
            largest, (block.allDense() + block.allExpert()) *
                         std::max(request.precision.parameterBytes, request.precision.reduceBytes));
  if (largest == 0)
    return true;
  // Layers larger than all sizes take the largest one.
  bool isMost = llvm::none_of(
      sizes, [&](int64_t bytes) { return bytes > bucketBytes && bytes != kOneBucket; });
  return bucketBytes != kOneBucket && (isMost || static_cast<double>(bucketBytes) >= largest);
}

// Chooses the bucket size, one for all stages, with which the last stage is done first. A later
// stage is done with its gradients while earlier ones still compute theirs.
void StageCoster::chooseExchange(std::vector<StageEstimate> &stages) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t way = 0; way < stages.front().exchanges.size(); ++way) {
    if (sizes.size() > 1 && !mayTravelIn(sizes[way]))
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
                                 const StageDevice &at) const {
  const CellPrecision &p = request.precision;
  const Topology &topology = at.topology;
  // Tensor parallelism sums the gradients that its ranks share once data parallelism has reduced
  // them.
  double sums = bucketedSeconds(CollectiveKind::AllReduce,
                                summed * p.reduceBytes / (d.zero >= 1 ? at.dataRanks : 1),
                                at.model.groups.tp, topology);
  for (const GradientExchange &each : exchangesOf(dense, expert, at))
    addExchange(stage, each, sums);
  double own = at.ownOf(dense, expert);
  stage.optimizerSeconds = secondsOf(updateOf(own, p), topology.device);
  HostUpdate onHost = updateOnHost(own, p, topology.device.hostShare());
  double behind = hiddenPasses() * (stage.backwardInput + stage.backwardWeight);
  stage.hostOptimizerSeconds = std::max(0.0, onHost.toHostSeconds - behind) + onHost.updateSeconds;
  if (d.offloadOptimizer) {
    stage.optimizerSeconds = stage.hostOptimizerSeconds;
    stage.statesOnHost = onHost.bytes;
  }
}

} // namespace dtc
