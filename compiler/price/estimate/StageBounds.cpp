// Bounds the seconds of stages from below.
#include "compiler/price/estimate/StageBounds.h"
#include "compiler/price/cost/OpCost.h"

#include "compiler/price/estimate/HostOffload.h"
#include "compiler/price/estimate/OncePerStep.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace dtc {

// Returns the smallest figure of the layers on all kinds of devices; infinite without layers.
static double leastOfLayers(llvm::ArrayRef<StageKind> kinds,
                            llvm::function_ref<double(const PartTimes &)> ofLayer) {
  double least = std::numeric_limits<double>::infinity();
  for (const StageKind &at : kinds)
    for (const PartTimes &times : at.blocks)
      least = std::min(least, ofLayer(times));
  return least;
}

double StageBounds::sumOver(llvm::function_ref<double(const PartTimes &)> ofPart,
                            llvm::function_ref<double(const PartTimes &)> ofLayer) const {
  size_t lastStage = in.stageOf(static_cast<size_t>(in.chunks() - 1));
  double seconds = ofPart(in.kindOf(0).embedding) + ofPart(in.kindOf(lastStage).head);
  llvm::SmallVector<double, 8> least(in.kinds.front().blocks.size(),
                                     std::numeric_limits<double>::infinity());
  for (const StageKind &at : in.kinds)
    for (auto [block, times] : llvm::enumerate(at.blocks))
      least[block] = std::min(least[block], ofLayer(times));
  for (int block : in.model.cells->chain)
    seconds += least[static_cast<size_t>(block)];
  return seconds;
}

double StageBounds::model() const {
  return sumOver([](const PartTimes &part) { return part.total(); },
                 [&](const PartTimes &layer) { return in.leastOf(layer); });
}

double StageBounds::path() const {
  return sumOver([](const PartTimes &part) { return part.total() - part.backwardWeight; },
                 [&](const PartTimes &layer) { return in.leastOf(layer) - layer.backwardWeight; });
}

double StageBounds::slowestStage() const {
  auto layers = in.layers();
  if (layers == 0) // the whole model is one part
    return 0;
  double least = leastOfLayers(in.kinds, [&](const PartTimes &times) { return in.leastOf(times); });
  return static_cast<double>(llvm::divideCeil(layers, in.d.pp)) * least;
}

// A stage with n_s layers of t_s seconds, and e_s of embedding and head, starts after the way b_s
// down to it and, but for gradients of weights, ends before the way up: T >= b_s + m (n_s t_s +
// e_s). The n_s add up to all layers L, so
//   T >= (L + sum of (b_s / m + e_s) / t_s) / sum of 1 / (m t_s)
double StageBounds::overDevices() const {
  if (in.isUniform() || in.model.cells->chain.empty())
    return 0;
  double m = static_cast<double>(in.d.numMicroBatches), perSecond = 0,
         layers = static_cast<double>(in.model.cells->chain.size());
  for (size_t stage = 0; stage < static_cast<size_t>(in.d.pp); ++stage) {
    const StageKind &at = in.kindOf(stage);
    double fastest = leastOfLayers(at, [&](const PartTimes &times) { return in.leastOf(times); });
    double embeddingAndHead =
        (stage == 0 ? at.embedding.total() : 0) + (in.holdsHead(stage) ? at.head.total() : 0);
    double way = before(static_cast<int64_t>(stage), splitsBackward(in.d.schedule));
    perSecond += 1 / (m * fastest);
    layers += (way / m + embeddingAndHead) / fastest;
  }
  return layers / perSecond * (1 - 1e-9); // sums in another order differ in their last bits
}

// The embedding and s chunks are before stage s > 0; the first chunk may be the embedding alone.
double StageBounds::before(int64_t stage, bool isDownOnly) const {
  if (stage == 0 || in.d.evenStages || in.model.cells->chain.empty()) // any chunk may have no layer
    return 0;
  auto secondsOf = [&](const PartTimes &times) {
    return isDownOnly ? times.forward : times.total();
  };
  double layer = leastOfLayers(in.kinds, secondsOf);
  auto layers = static_cast<double>(stage - in.mayBeginWithoutLayers());
  return secondsOf(in.kindOf(0).embedding) + layers * layer;
}

double StageBounds::meanBefore(bool isDownOnly) const {
  // Stages 1 to p - 1 form an arithmetic series; stage 0 has nothing before it.
  return static_cast<double>(in.d.pp - 1) / static_cast<double>(in.d.pp) *
         (before(1, isDownOnly) + before(in.d.pp - 1, isDownOnly)) / 2;
}

double StageBounds::forwardShare() const {
  auto shareOf = [&](const PartTimes &layer) {
    return (layer.forward + layer.toHostOf(in.leastWay())) / in.leastOf(layer);
  };
  return std::min(1.0, leastOfLayers(in.kinds, shareOf));
}

double StageBounds::oncePerStep() const { return in.d.offloadOptimizer ? hostUpdate() : 0; }

double StageBounds::hostUpdate() const {
  double least = std::numeric_limits<double>::infinity(), own = leastOwnOfMeanStage();
  for (const StageKind &at : in.kinds)
    least = std::min(
        least,
        updateOnHost(own, in.request.precision, at.topology.device.hostShare()).updateSeconds);
  return least;
}

// Returns the number of layers of each block.
static llvm::SmallVector<double, 4> layersOfBlocks(const StageInputs &in) {
  llvm::SmallVector<double, 4> layers(in.model.blocks.size(), 0);
  for (int block : in.model.cells->chain)
    ++layers[static_cast<size_t>(block)];
  return layers;
}

// Embedding and head share at most the tied parameters.
double StageBounds::leastOwnOfMeanStage() const {
  double own = 0;
  auto add = [&](double times, llvm::function_ref<double(const StageKind &)> ofKind) {
    double least = std::numeric_limits<double>::infinity();
    for (const StageKind &at : in.kinds)
      least = std::min(least, ofKind(at));
    own += times * least;
  };
  auto shareOf = [](const StageKind &at, const BlockCost &block) {
    return at.ownOf(block.denseParameters, block.expertParameters);
  };
  add(1, [&](const StageKind &at) { return shareOf(at, at.model.embedding); });
  add(1, [&](const StageKind &at) {
    return shareOf(at, at.model.head) - at.ownOf(at.model.tiedParameters, 0);
  });
  for (auto [block, layers] : llvm::enumerate(layersOfBlocks(in)))
    add(layers,
        [&, block = block](const StageKind &at) { return shareOf(at, at.model.blocks[block]); });
  return own / static_cast<double>(in.d.pp) *
         (1 - 1e-9); // sums in another order differ in their last bits
}

double StageBounds::update() const {
  if (in.d.offloadOptimizer)
    return oncePerStep();
  double least = std::numeric_limits<double>::infinity(), own = leastOwnOfMeanStage();
  for (const StageKind &at : in.kinds)
    least = std::min(least, secondsOf(updateOf(own, in.request.precision), at.topology.device));
  return least;
}

} // namespace dtc
