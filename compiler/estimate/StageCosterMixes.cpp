// What layers of a stage recompute so that it fits: of all ways that may be mixed, the fastest.
#include "compiler/estimate/StageCoster.h"

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

llvm::SmallVector<Recompute, kNumRecomputes> StageCoster::waysToRecomputeMore() const {
  std::bitset<kNumRecomputes> found;
  if (d.mayRecomputeMore())
    found.set(static_cast<size_t>(d.recomputeMost));
  for (auto [low, high] : model.cells->recomputeMixes)
    if (d.mayRecomputeMore() && !d.evenRecompute && isWithin(low) && isWithin(high))
      for (Recompute how : {low, high})
        if (how != d.recompute)
          found.set(static_cast<size_t>(how));
  llvm::SmallVector<Recompute, kNumRecomputes> ways;
  for (Recompute how : kRecomputes)
    if (found[static_cast<size_t>(how)])
      ways.push_back(how);
  return ways;
}

// Ways that keep no less, hold no less and take no less than another one are left out; of alike ones the later.
void StageCoster::findMixes() {
  auto isNoBetter = [&](Recompute how, Recompute other) {
    for (const Place &place : places)
      for (auto [block, times] : llvm::zip_equal(place.model.blocks, place.blocks))
        if (isLess(keptOf(block, how), keptOf(block, other)) ||
            isLess(workspaceOf(block, how), workspaceOf(block, other)) ||
            isLess(times.recomputeOf(how), times.recomputeOf(other)))
          return false;
    return true;
  };
  mixes.push_back({d.recompute, d.recomputeMost});
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
      mixes.push_back({low, high});
}

llvm::SmallVector<StageCoster::LayerRun, 4> StageCoster::runsOf(const StageEstimate &stage,
                                                                const Place &place) const {
  llvm::SmallVector<LayerRun, 4> runs;
  for (auto [first, last] : stage.chunks)
    for (int64_t layer = first; layer <= last; ++layer) {
      size_t block = place.blockIndex(layer);
      if (runs.empty() || runs.back().block != block)
        runs.push_back({block, 0});
      ++runs.back().layers;
    }
  return runs;
}

StageCoster::Mixed StageCoster::mixedToFit(llvm::ArrayRef<LayerRun> runs, const Place &place,
                                           Alive alive,
                                           llvm::function_ref<double(Recompute)> workspaceOf,
                                           double over) const {
  if (over <= 0)
    return {{d.recompute, d.recompute}, 0, 0};
  Mixed best;
  best.seconds = std::numeric_limits<double>::infinity();
  double fragmentation = process.fragmentation;
  // Of a layer that recomputes `high` and not `low`.
  auto lessOf = [&](size_t block, Recompute low, Recompute high) {
    const BlockCost &cost = place.model.blocks[block];
    return fragmentation * (alive.inFlight - alive.stashed) *
           (keptOf(cost, low) - keptOf(cost, high));
  };
  auto againOf = [&](size_t block, Recompute low, Recompute high) {
    const PartTimes &times = place.blocks[block];
    return times.recomputeOf(high) - times.recomputeOf(low);
  };
  for (Mix mix : mixes) {
    double lowSpace = workspaceOf(mix.low), highSpace = std::max(lowSpace, workspaceOf(mix.high));
    double left = over + fragmentation * (lowSpace - workspaceOf(d.recompute)), seconds = 0;
    for (LayerRun run : runs) {
      auto layers = static_cast<double>(run.layers);
      left -= layers * lessOf(run.block, d.recompute, mix.low);
      seconds += layers * againOf(run.block, d.recompute, mix.low);
    }
    int64_t high = 0;
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
    }
    if (left <= 0 && isLess(seconds, best.seconds)) // of as fast ones the first
      best = {mix, high, seconds};
  }
  return best;
}

} // namespace dtc
