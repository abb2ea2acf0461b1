// Chooses the fastest mix of recomputation and offloading with which a stage fits.
#include "compiler/price/estimate/StageCoster.h"

#include "compiler/price/estimate/HostOffload.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtc {

// Sums in another order differ in their last bits.
static bool isLess(double a, double b) { return a < b * (1 - 1e-9); }

bool StageCoster::isWithin(Recompute how) const {
  return isPartOf(d.recompute, how) && isPartOf(how, d.recomputeMost);
}

// Returns only recomputations that all layers of a stage may use.
std::bitset<kNumRecomputes> StageCoster::recomputesOnHost() const {
  std::bitset<kNumRecomputes> found;
  if (d.layersOnHost != LayersOnHost::Some)
    return found;
  found.set(static_cast<size_t>(d.recompute));
  for (auto [low, high] : model.cells->recomputeMixes)
    if (isWithin(low) && isWithin(high))
      for (Recompute how : {low, high})
        found.set(static_cast<size_t>(how));
  return found & model.cells->hostRecomputes;
}

llvm::SmallVector<LayerWay, kNumLayerWays> StageCoster::waysToKeepLess() const {
  std::bitset<kNumRecomputes> found, onHost = recomputesOnHost();
  if (d.mayRecomputeMore())
    found.set(static_cast<size_t>(d.recomputeMost));
  for (auto [low, high] : model.cells->recomputeMixes)
    if (d.mayRecomputeMore() && !recomputesEvenly() && isWithin(low) && isWithin(high))
      for (Recompute how : {low, high})
        if (how != d.recompute)
          found.set(static_cast<size_t>(how));
  llvm::SmallVector<LayerWay, kNumLayerWays> ways;
  for (Recompute how : kRecomputes) {
    if (found[static_cast<size_t>(how)])
      ways.push_back({how});
    if (onHost[static_cast<size_t>(how)])
      ways.push_back({how, /*isOnHost=*/true});
  }
  return ways;
}

double StageCoster::keptBy(const BlockCost &block, LayerWay way) {
  return way.isOnHost ? 0 : keptOf(block, way.recompute);
}

// Selective recomputation, which is cheap, holds no more than the op at hand reads.
double StageCoster::workspaceOf(const BlockCost &block, LayerWay way) {
  double kept = keptOf(block, way.recompute);
  return (way.recompute <= Recompute::Selective ? 0 : block.kept - kept) +
         (way.isOnHost ? 2 * kept : 0);
}

double StageCoster::workspaceOf(llvm::ArrayRef<LayerRun> runs, const StageDevice &at,
                                LayerWay way) {
  double most = 0;
  for (LayerRun run : runs)
    most = std::max(most, workspaceOf(at.model.blocks[run.block], way));
  return most;
}

double StageCoster::hostRoomOf(double statesOnHost, const StageDevice &at) const {
  const DeviceKind &device = at.topology.device;
  // One memory holds both.
  return device.deviceClass == DeviceClass::Cpu ? 0 : hostMemoryFor(device.host) - statesOnHost;
}

// Leaves out recomputations that save, hold and take no less than another one; of equal ones the
// later.
void StageCoster::findMixes() {
  auto isNoBetter = [&](Recompute how, Recompute other) {
    for (const StageDevice &at : devices)
      for (auto [block, times] : llvm::zip_equal(at.model.blocks, at.blocks))
        if (isLess(keptOf(block, how), keptOf(block, other)) ||
            isLess(workspaceOf(block, {how}), workspaceOf(block, {other})) ||
            isLess(times.recomputeOf(how), times.recomputeOf(other)))
          return false;
    return true;
  };
  if (d.mayRecomputeMore())
    mixes.push_back({{d.recompute}, {d.recomputeMost}});
  std::bitset<kNumRecomputes> within;
  auto note = [&](Recompute how) { within.set(static_cast<size_t>(how)); };
  for (auto [low, high] : model.cells->recomputeMixes)
    if (isWithin(low) && isWithin(high)) {
      note(low);
      note(high);
    }
  auto isLeftOut = [&](Recompute how) {
    return how != d.recompute && llvm::any_of(kRecomputes, [&](Recompute other) {
             return other != how && within[static_cast<size_t>(other)] && isNoBetter(how, other) &&
                    (other < how || !isNoBetter(other, how));
           });
  };
  for (auto [low, high] : model.cells->recomputeMixes)
    if (isWithin(low) && isWithin(high) && !isLeftOut(low) && !isLeftOut(high) &&
        (low != d.recompute || high != d.recomputeMost))
      mixes.push_back({{low}, {high}});
  for (Recompute how : kRecomputes)
    if (recomputesOnHost()[static_cast<size_t>(how)])
      mixes.push_back({{how}, {how, /*isOnHost=*/true}});
}

llvm::SmallVector<StageCoster::LayerRun, 4> StageCoster::runsOf(const StageEstimate &stage,
                                                                const StageDevice &at) const {
  llvm::SmallVector<LayerRun, 4> runs;
  for (auto [first, last] : stage.chunks)
    for (int64_t layer = first; layer <= last; ++layer) {
      size_t block = at.blockIndex(layer);
      if (runs.empty() || runs.back().block != block)
        runs.push_back({block, 0});
      ++runs.back().layers;
    }
  return runs;
}

StageCoster::Mixed StageCoster::mixedToFit(const Overfull &stage, double over) const {
  if (over <= 0)
    return {{leastWay(), leastWay()}, 0, 0};
  llvm::ArrayRef<LayerRun> runs = stage.runs;
  const StageDevice &at = stage.at;
  Mixed best;
  best.seconds = std::numeric_limits<double>::infinity();
  double fragmentation = process.fragmentation;
  // The bytes that a layer frees by using `high` instead of `low`.
  double waiting = stage.alive.inFlight - stage.alive.stashed;
  auto lessOf = [&](size_t block, LayerWay low, LayerWay high) {
    const BlockCost &cost = at.model.blocks[block];
    return fragmentation * waiting * (keptBy(cost, low) - keptBy(cost, high));
  };
  auto againOf = [&](size_t block, LayerWay low, LayerWay high) {
    const PartTimes &times = at.blocks[block];
    return times.againOf(high) - times.againOf(low);
  };
  double ownSpace = workspaceOf(runs, at, leastWay());
  int64_t allLayers = 0;
  for (LayerRun run : runs)
    allLayers += run.layers;
  for (Mix mix : mixes) {
    double lowSpace = workspaceOf(runs, at, mix.low),
           highSpace = std::max(lowSpace, workspaceOf(runs, at, mix.high));
    double left = over + fragmentation * (lowSpace - ownSpace), seconds = 0;
    for (LayerRun run : runs) {
      auto layers = static_cast<double>(run.layers);
      left -= layers * lessOf(run.block, leastWay(), mix.low);
      seconds += layers * againOf(run.block, leastWay(), mix.low);
    }
    int64_t high = 0;
    double onHost = 0;
    if (left > 0)
      left += fragmentation * (highSpace - lowSpace);
    for (LayerRun run : runs) {
      if (left <= 0)
        break;
      double less = lessOf(run.block, mix.low, mix.high);
      double wanted = less > 0 ? std::ceil(left / less) : std::numeric_limits<double>::infinity();
      double layers = std::min(static_cast<double>(run.layers), wanted);
      left -= layers * less;
      if (left > 0 && layers < static_cast<double>(run.layers)) { // rounded
        ++layers;
        left -= less;
      }
      seconds += layers * againOf(run.block, mix.low, mix.high);
      high += static_cast<int64_t>(layers);
      if (mix.high.isOnHost)
        onHost += layers * waiting * keptOf(at.model.blocks[run.block], mix.high.recompute);
    }
    bool areAll = mix.low.isOnHost || (mix.high.isOnHost && high == allLayers);
    bool isHeld = left <= 0 && !(areAll && model.cells->keepsALayer) &&
                  onHost <= std::max(0.0, stage.hostRoom);
    if (isHeld && isLess(seconds, best.seconds)) // on ties the first
      best = {mix, high, seconds};
  }
  return best;
}

} // namespace dtc
