// Whether stages can fit, and be as fast as they would have to be.
#include "compiler/estimate/StageCoster.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtc {
namespace {

// Sums in another order differ in their last bits.
constexpr double kRounding = 1e-9;

} // namespace

bool StageCoster::holdsHead(size_t stage) const {
  return stage == stageOf(static_cast<size_t>(d.pp * d.virtualStages - 1));
}

int64_t StageCoster::leastLayersOf(size_t stage) const {
  if (d.evenStages) // any chunk may have none
    return 0;
  bool mayBegin = stage == 0 && mayBeginWithoutLayers(), mayEnd = holdsHead(stage) && d.pp > 1;
  return d.virtualStages - mayBegin - mayEnd;
}

// A relaxation: layers of which each has the best of all, any share of which recompute more. With n of
// t seconds and b bytes, f of which a second of recomputation frees, a stage takes
//   n t + max(0, n b - room) / f   seconds, and holds   n (b - most that a layer frees) <= room.
double StageCoster::mostLayersWithin(size_t index, double seconds) const {
  const Place &place = places.front();
  const ModelCost &cost = place.model;
  double fragmentation = process.fragmentation, infinity = std::numeric_limits<double>::infinity();
  Alive alive = aliveOf(index);
  PartSums sums;
  double ends = 0, kept = 0;
  if (index == 0) {
    sums.add(cost.embedding, false);
    ends += place.embedding.total();
    kept = cost.embedding.kept;
  }
  if (holdsHead(index)) {
    sums.add(cost.head, false);
    sums.headKept = cost.head.kept;
    ends += place.head.total();
    if (index == 0) {
      sums.dense -= model.tiedParameters;
      sums.ends -= model.tiedParameters;
    }
  }
  double own = infinity, bytes = infinity, freed = 0, secondsPerByte = infinity;
  double transient = infinity, largest = infinity, workspace = infinity;
  double ownWorkspace = infinity; // of what is recomputed at least
  for (size_t block = 0; block < cost.blocks.size(); ++block) {
    const BlockCost &part = cost.blocks[block];
    const PartTimes &times = place.blocks[block];
    double least = keptOf(part, d.recompute);
    own = std::min(own, leastOf(times));
    bytes = std::min(bytes, statesOf(part.denseParameters, part.expertParameters) +
                                fragmentation *
                                    (alive.inFlight * least + alive.stashed * (part.kept - least)));
    for (Recompute how : waysToRecomputeMore()) {
      double less =
          fragmentation * (alive.inFlight - alive.stashed) * (least - keptOf(part, how));
      double again = times.recomputeOf(how) - times.recomputeOf(d.recompute);
      freed = std::max(freed, less);
      if (less > 0)
        secondsPerByte = std::min(secondsPerByte, again / less);
      workspace = std::min(workspace, workspaceOf(part, how));
    }
    ownWorkspace = std::min(ownWorkspace, workspaceOf(part, d.recompute));
    transient = std::min(transient, part.transient);
    largest = std::min(largest, part.denseParameters + part.expertParameters);
  }
  if (leastLayersOf(index) > 0) {
    sums.transient = std::max(sums.transient, transient);
    sums.largestLayer = largest;
  }
  if (leastLayersOf(index) == 0)
    workspace = ownWorkspace = 0;
  double room = place.memoryLimit * (1 + kRounding) -
                memoryOf(sums, place, alive, kept, 0, ownWorkspace).total();
  double byTime = (seconds - ends) / own, plain = std::min(byTime, room / bytes);
  // Of the layer that is computed again.
  if (d.mayRecomputeMore())
    room -= fragmentation * std::max(0.0, workspace - ownWorkspace);
  if (!d.mayRecomputeMore() || freed <= 0 || room <= 0)
    return plain;
  double most =
      std::min(byTime, (seconds - ends + room * secondsPerByte) / (own + bytes * secondsPerByte));
  if (bytes > freed)
    most = std::min(most, room / (bytes - freed));
  return std::max(plain, most);
}

bool StageCoster::mayFitWithin(double seconds) const {
  auto layers = static_cast<double>(model.cells->chain.size());
  // The whole model is one part; or every stage has a part of the vocabulary, too, which is not counted here.
  if (layers == 0 || d.vocabOverPp > 0)
    return true;
  double loop = (seconds - leastUpdateSeconds()) * (1 + kRounding), sum = 0;
  double m = static_cast<double>(d.numMicroBatches);
  // A stage starts after the way down to it and, but for gradients of weights, ends before the way up.
  bool isSplit = splitsBackward(d.schedule);
  for (int64_t stage = 0; stage < d.pp; ++stage) {
    auto index = static_cast<size_t>(stage);
    double most = mostLayersWithin(index, (loop - leastSecondsBefore(stage, isSplit)) / m);
    double whole = std::floor(most * (1 + kRounding));
    if (whole < static_cast<double>(leastLayersOf(index)))
      return false;
    sum += whole;
  }
  return sum >= layers;
}

} // namespace dtc
