// Costs the work that a stage does once a step.
#include "compiler/price/estimate/OncePerStep.h"

#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/price/estimate/Buckets.h"
#include "compiler/price/estimate/HostOffload.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace dtc {

OpWork updateOf(double parameters, const CellPrecision &p) {
  double bytes = 2 * p.optimizerBytes + 2 * p.gradientBytes + p.parameterBytes +
                 (p.parameterBytes == 4 ? 4 : 0);
  OpWork update;
  update.bytes = parameters * bytes;
  return update;
}

// Returns the seconds in which the ranks of a stage make the matrices that muon updates orthogonal:
// each has to gather them, along every axis that splits them, and multiplies all of them.
static double orthogonalSeconds(const StageInputs &in, const PartSums &sums, const StageKind &at) {
  if (!in.request.precision.orthogonalises || sums.matrixElements <= 0)
    return 0;
  // Products have the type of the model's, but f32 for f16, whose range is too narrow.
  const CellPrecision &p = in.request.precision;
  bool isWide = p.compute == ComputeType::F16;
  double elementBytes = isWide ? 4 : p.parameterBytes;
  // Each of five steps has three products, which read or write nine matrices.
  constexpr double kMatricesMoved = 5 * 9, kFlopsOfSquare = 30;
  OpWork products;
  products.kind = WorkKind::Product;
  products.type = isWide ? ComputeType::F32 : p.compute;
  products.flops = sums.matrixFlops;
  products.bytes = kMatricesMoved * elementBytes * sums.matrixElements;
  double side = std::max(1.0, sums.matrixFlops / (kFlopsOfSquare * sums.matrixElements));
  products.m = products.n = products.k = static_cast<int64_t>(side);
  products.batch =
      std::max<int64_t>(1, static_cast<int64_t>(sums.matrixFlops / (2 * side * side * side)));
  double seconds = secondsOf(products, at.topology.device);
  double bytes = elementBytes * sums.matrixElements;
  if (in.d.zero >= 1)
    seconds += collectiveSeconds(CollectiveKind::AllGather, bytes / static_cast<double>(in.d.tp),
                                 at.shards.denseShards, at.topology);
  return seconds +
         collectiveSeconds(CollectiveKind::AllGather, bytes, at.model.groups.tp, at.topology);
}

// Returns the collectives of a stage with so many dense and expert parameters, by bucket size.
static const std::vector<GradientCollectives> &collectivesOf(const StageInputs &in, double dense,
                                                             double expert, const StageKind &at) {
  std::vector<GradientCollectives> &all = in.known.gradients[{at.number, in.d.zero, dense, expert}];
  if (all.empty())
    for (int64_t bytes : in.bucketSizes)
      all.push_back(gradientCollectivesOf(bytes, dense, expert, in.d.zero, at.shards, at.topology,
                                          in.request.precision));
  return all;
}

// Returns the passes that hide gradients. Virtual stages complete the gradients of a chunk while
// the last micro-batches are still in the others.
static double hiddenPasses(const StageInputs &in) {
  double passes =
      in.d.virtualStages > 1 ? static_cast<double>(std::min(in.d.pp, in.d.numMicroBatches)) : 1;
  return in.overlap.gradients * passes;
}

// Adds the cost of the stage's gradient collectives in one bucket size, once a step.
static void addCollectives(const StageInputs &in, const GradientCollectives &collectives,
                           double sums, StageEstimate &stage) {
  double backward = hiddenPasses(in) * (stage.backwardInput + stage.backwardWeight);
  double forward = hiddenPasses(in) * stage.forward, reduce = collectives.reduce.all,
         gather = collectives.gather.all;
  double exposedReduce = exposedSeconds(collectives.reduce, backward);
  double exposedGather = exposedSeconds(collectives.gather, forward);
  if (in.d.virtualStages > 1) { // the first chunk's gather and the last one's reduction
    double chunk = 1 / static_cast<double>(in.d.virtualStages);
    exposedReduce = std::max(exposedReduce, chunk * reduce * (1 - in.overlap.gradients));
    exposedGather = std::max(exposedGather, chunk * gather * (1 - in.overlap.gradients));
  }
  double hidden = reduce + gather - exposedReduce - exposedGather;
  stage.gradientCosts.push_back({reduce + gather + sums, exposedReduce + exposedGather + sums +
                                                             (in.overlap.slowdown - 1) * hidden});
}

// Returns true if gradients may travel in buckets of this size. Collectives of every micro-batch
// (ZeRO-2 and 3) are costed block by block, beside compute, so that a bucket has to hold a layer's.
static bool mayTravelIn(const StageInputs &in, int64_t bucketBytes) {
  if (in.d.zero < 2 || bucketBytes == kStackBuckets)
    return true;
  double largest = 0;
  for (const StageKind &at : in.kinds)
    for (const BlockCost &block : at.model.blocks)
      if (at.isShared())
        largest = std::max(largest, (block.allDense() + block.allExpert()) *
                                        std::max(in.request.precision.parameterBytes,
                                                 in.request.precision.reduceBytes));
  if (largest == 0)
    return true;
  // Layers larger than all sizes take the largest one.
  bool isMost = llvm::none_of(
      in.bucketSizes, [&](int64_t bytes) { return bytes > bucketBytes && bytes != kOneBucket; });
  return bucketBytes != kOneBucket && (isMost || static_cast<double>(bucketBytes) >= largest);
}

int64_t chooseBuckets(const StageInputs &in, std::vector<StageEstimate> &stages) {
  const std::vector<int64_t> &sizes = in.bucketSizes;
  size_t chosen = 0; // index into sizes
  double least = std::numeric_limits<double>::infinity();
  for (size_t way = 0; way < stages.front().gradientCosts.size(); ++way) {
    if (sizes.size() > 1 && !mayTravelIn(in, sizes[way]))
      continue;
    double slack = 0, most = 0;
    for (const StageEstimate &stage : stages) {
      most = std::max(most, stage.gradientCosts[way].exposedSeconds - slack);
      slack += stage.backwardInput / static_cast<double>(in.d.virtualStages);
    }
    if (most < least) {
      least = most;
      chosen = way;
    }
  }
  double slack = 0;
  for (StageEstimate &stage : stages) {
    stage.gradientSeconds = stage.gradientCosts[chosen].seconds;
    stage.exposedGradientSeconds =
        std::max(0.0, stage.gradientCosts[chosen].exposedSeconds - slack);
    slack += stage.backwardInput / static_cast<double>(in.d.virtualStages);
    stage.gradientCosts.clear();
  }
  return sizes[chosen];
}

void addOncePerStep(const StageInputs &in, const PartSums &sums, const StageKind &at,
                    StageEstimate &stage) {
  const CellPrecision &p = in.request.precision;
  const Topology &topology = at.topology;
  // Tensor parallelism sums the gradients that its ranks share once data parallelism has reduced
  // them.
  double tensorSums = bucketedSeconds(
      CollectiveKind::AllReduce, sums.summed * p.reduceBytes / (in.d.zero >= 1 ? at.dataRanks : 1),
      at.model.groups.tp, topology);
  for (const GradientCollectives &each : collectivesOf(in, sums.dense, sums.expert, at))
    addCollectives(in, each, tensorSums, stage);
  double own = at.ownOf(sums.dense, sums.expert);
  stage.optimizerSeconds =
      secondsOf(updateOf(own, p), topology.device) + orthogonalSeconds(in, sums, at);
  HostUpdate onHost = updateOnHost(own, p, topology.device.hostShare());
  double behind = hiddenPasses(in) * (stage.backwardInput + stage.backwardWeight);
  stage.hostOptimizerSeconds = std::max(0.0, onHost.toHostSeconds - behind) + onHost.updateSeconds;
  if (in.d.offloadOptimizer) {
    stage.optimizerSeconds = stage.hostOptimizerSeconds;
    stage.statesOnHost = onHost.bytes;
  }
}

} // namespace dtc
