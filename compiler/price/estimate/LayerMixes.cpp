// Chooses the fastest mix of recomputation and offloading with which a stage fits.
#include "compiler/price/estimate/LayerMixes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <limits>

namespace dtc {

// Sums in another order differ in their last bits.
static bool isLess(double a, double b) { return a < b * (1 - 1e-9); }

// Returns true if `how` is between the least and the most recomputation of the decisions.
static bool isWithin(const StageInputs &in, Recompute how) {
  return isPartOf(in.d.recompute, how) && isPartOf(how, in.d.recomputeMost);
}

// Returns the recomputations of offloaded layers in stages that offload only some; the other layers
// of the stage recompute the same.
static std::bitset<kNumRecomputes> recomputesOnHost(const StageInputs &in) {
  std::bitset<kNumRecomputes> found;
  if (!in.d.offloadsSomeLayers())
    return found;
  found.set(static_cast<size_t>(in.d.recompute));
  for (auto [low, high] : in.model.cells->recomputeMixes)
    if (isWithin(in, low) && isWithin(in, high))
      for (Recompute how : {low, high})
        found.set(static_cast<size_t>(how));
  return found & in.model.cells->hostRecomputes;
}

llvm::SmallVector<LayerWay, kNumLayerWays> waysToKeepLess(const StageInputs &in) {
  std::bitset<kNumRecomputes> found, onHost = recomputesOnHost(in);
  if (in.d.mayRecomputeMore())
    found.set(static_cast<size_t>(in.d.recomputeMost));
  for (auto [low, high] : in.model.cells->recomputeMixes)
    if (in.d.mayRecomputeMore() && !in.recomputesEvenly() && isWithin(in, low) &&
        isWithin(in, high))
      for (Recompute how : {low, high})
        if (how != in.d.recompute)
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

double workspaceOf(llvm::ArrayRef<EqualLayers> runs, const StageKind &at, LayerWay way) {
  double most = 0;
  for (EqualLayers run : runs)
    most = std::max(most, workspaceOf(at.model.blocks[run.block], way));
  return most;
}

llvm::SmallVector<EqualLayers, 4> runsOf(const StageEstimate &stage, const StageKind &at) {
  llvm::SmallVector<EqualLayers, 4> runs;
  for (auto [first, last] : stage.chunks)
    for (int64_t layer = first; layer <= last; ++layer) {
      size_t block = at.blockIndex(layer);
      if (runs.empty() || runs.back().block != block)
        runs.push_back({block, 0});
      ++runs.back().layers;
    }
  return runs;
}

// Leaves out recomputations that save, hold and take no less than another one; of equal ones the
// later.
LayerMixes::LayerMixes(const StageInputs &in) : in(in) {
  if (!in.d.mayKeepLess() || in.recomputesEvenly())
    return;
  auto isNoBetter = [&](Recompute how, Recompute other) {
    for (const StageKind &at : in.kinds)
      for (auto [block, times] : llvm::zip_equal(at.model.blocks, at.blocks))
        if (isLess(keptOf(block, how), keptOf(block, other)) ||
            isLess(workspaceOf(block, {how}), workspaceOf(block, {other})) ||
            isLess(times.recomputeOf(how), times.recomputeOf(other)))
          return false;
    return true;
  };
  if (in.d.mayRecomputeMore())
    mixes.push_back({{in.d.recompute}, {in.d.recomputeMost}});
  std::bitset<kNumRecomputes> within;
  auto note = [&](Recompute how) { within.set(static_cast<size_t>(how)); };
  for (auto [low, high] : in.model.cells->recomputeMixes)
    if (isWithin(in, low) && isWithin(in, high)) {
      note(low);
      note(high);
    }
  auto isLeftOut = [&](Recompute how) {
    return how != in.d.recompute && llvm::any_of(kRecomputes, [&](Recompute other) {
             return other != how && within[static_cast<size_t>(other)] && isNoBetter(how, other) &&
                    (other < how || !isNoBetter(other, how));
           });
  };
  for (auto [low, high] : in.model.cells->recomputeMixes)
    if (isWithin(in, low) && isWithin(in, high) && !isLeftOut(low) && !isLeftOut(high) &&
        (low != in.d.recompute || high != in.d.recomputeMost))
      mixes.push_back({{low}, {high}});
  for (Recompute how : kRecomputes)
    if (recomputesOnHost(in)[static_cast<size_t>(how)])
      mixes.push_back({{how}, {how, /*isOnHost=*/true}});
}

FittingMix LayerMixes::toFit(const OverfullStage &stage, double over) const {
  if (over <= 0)
    return {{in.leastWay(), in.leastWay()}, 0, 0};
  llvm::ArrayRef<EqualLayers> runs = stage.runs;
  const StageKind &at = stage.at;
  FittingMix best;
  best.seconds = std::numeric_limits<double>::infinity();
  double fragmentation = in.process.fragmentation;
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
  double ownSpace = workspaceOf(runs, at, in.leastWay());
  int64_t allLayers = 0;
  for (EqualLayers run : runs)
    allLayers += run.layers;
  for (LayerMix mix : mixes) {
    double lowSpace = workspaceOf(runs, at, mix.low),
           highSpace = std::max(lowSpace, workspaceOf(runs, at, mix.high));
    double left = over + fragmentation * (lowSpace - ownSpace), seconds = 0;
    for (EqualLayers run : runs) {
      auto layers = static_cast<double>(run.layers);
      left -= layers * lessOf(run.block, in.leastWay(), mix.low);
      seconds += layers * againOf(run.block, in.leastWay(), mix.low);
    }
    int64_t high = 0;
    double onHost = 0;
    if (left > 0)
      left += fragmentation * (highSpace - lowSpace);
    for (EqualLayers run : runs) {
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
    bool isHeld = left <= 0 && !(areAll && in.model.cells->keepsALayer) &&
                  onHost <= std::max(0.0, stage.hostRoom);
    if (isHeld && isLess(seconds, best.seconds)) // on ties the first
      best = {mix, high, seconds};
  }
  return best;
}

} // namespace dtc
