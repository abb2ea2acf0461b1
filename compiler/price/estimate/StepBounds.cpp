// Bounds the seconds and bytes of a step.
#include "compiler/price/estimate/StepBounds.h"
#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/search/pipeline/ListScheduler.h"

#include "compiler/decide/decisions/Decision.h"
#include "compiler/price/estimate/StageBounds.h"
#include "compiler/price/estimate/StageCoster.h"
#include "compiler/price/estimate/StageFit.h"
#include "compiler/price/estimate/StepEstimate.h"
#include "compiler/price/memory/ProgramMemory.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtc {

double leastSecondsInGroups(const StepEstimate &step, const Decisions &d) {
  // Gathers of ZeRO-2 and 3 affect the cut, and so what fits.
  bool isSameCut = d.zero == 1 || d.pp == 1;
  if (isSameCut && !step.fits)
    return std::numeric_limits<double>::infinity();
  if (!isSameCut)
    return 0;
  auto m = static_cast<double>(d.numMicroBatches), p = static_cast<double>(d.pp);
  // No stage fits into fewer seconds with less memory for its layers.
  if (step.isCutByMemory)
    return (m * step.leastSlowestThatFits + step.optimizerSeconds) * (1 - 1e-9);
  // Stages that do not fit may be cut otherwise, but no cut has a faster slowest stage than this
  // bound.
  bool isFree = d.pp > 1 && !d.evenStages;
  double loop = isFree ? m * step.leastSlowestSeconds : step.leastLoopSeconds;
  // No path through a pipeline's tasks has more of them than m and, up and down, twice its stages.
  double gathers = 0;
  for (const StageEstimate &stage : step.stages)
    gathers = std::max(gathers, stage.gatherSeconds);
  loop -= (d.pp > 1 ? m + 2 * p : m) * gathers;
  return (loop + step.optimizerSeconds) * (1 - 1e-9);
}

// Returns the bytes of the mean stage: parameters, gradients, states, inputs of programs, and
// `kept` of all layers.
static double leastBytes(const ModelCost &model, const Decisions &d, const EstimateRequest &request,
                         double kept, double gradientBytes) {
  const CellPrecision &p = request.precision;
  const ProcessMemory &process = model.cells->process;
  double dataRanks = static_cast<double>(d.zeroRanks() * d.cp);
  double expertRanks = static_cast<double>(d.zeroRanksOfExpert());
  double dense = model.allDense - model.tiedParameters;
  auto shared = [&](double bytes, int64_t splitFrom) {
    return bytes * (d.zero >= splitFrom ? dense / dataRanks + model.allExpert / expertRanks
                                        : dense + model.allExpert);
  };
  double all = shared(p.bytesAtRest(d.zero, d.offloadOptimizer), 3) + shared(gradientBytes, 2) +
               (d.offloadOptimizer ? 0 : shared(p.optimizerBytes, 1)) +
               process.fragmentation * kept;
  if (request.programs)
    all += request.programs->inputsOf(samplesOf(d)).total();
  constexpr double rounding = 1 - 1e-9;
  return rounding * all / static_cast<double>(d.pp) + process.reserved;
}

// Returns false if the program cannot fit. Programs hold parameters and states all the time, as
// much as estimates say; the rest follows from lowering. Larger buckets hold more, and gradients
// merged into one overlap with nothing.
static bool programMayFit(const ModelCost &model, const Decisions &d,
                          const EstimateRequest &request) {
  // Lowers nothing where what must be there is far less than the memory: small models on CPUs.
  constexpr double kFarFromFull = 8;
  double kept = model.allKept[static_cast<size_t>(d.recomputeMost)];
  if (leastBytes(model, d, request, kept, request.precision.gradientBytes) <=
      request.memoryLimit / kFarFromFull)
    return true;
  auto mayFitWith = [&](int64_t bucketBytes) {
    return request.programs->leastBytes(withBuckets(d, bucketBytes), *model.placements) <=
           request.memoryLimit;
  };
  const std::vector<int64_t> &sizes = request.bucketSizesOf(d);
  return leastBytes(model, d, request, 0, 0) <= request.memoryLimit &&
         (mayFitWith(sizes.front()) || (sizes.size() > 1 && mayFitWith(sizes.back())));
}

// Every stage saves at least one micro-batch of its layers, and some stage is no smaller than the
// mean.
bool mayFit(const ModelCost &model, const Decisions &d, const EstimateRequest &request) {
  if (!model.kinds.empty() || request.ignoresMemory)
    return true;
  if (request.programs && d.pp == 1)
    return programMayFit(model, d, request);
  double kept = d.offloadsLayers() ? 0 : model.allKept[static_cast<size_t>(d.recomputeMost)];
  return leastBytes(model, d, request, kept, request.precision.gradientBytes) <=
         request.memoryLimit;
}

bool mayFitWithin(const ModelCost &model, const Decisions &d, const EstimateRequest &request,
                  double seconds) {
  return request.programs || request.ignoresMemory ||
         mayFitWithin(StageInputs(model, d, request), seconds);
}

// Bounds a pipeline with gradients of weights apart, where only forwards are on the way down. With
// a share f of each layer's seconds in its forward and e in the embedding, S_s the seconds of the
// first s stages: L >= m t_1 and L >= m t_s + f (S_(s-1) - e), s > 1. Least where all of these are
// equal: S_s - e = q (S_(s-1) - e) + L / m, q = 1 - f / m.
static double leastSecondsOfSplit(double total, double embedding, double forwardShare, double m,
                                  double p) {
  double q = std::pow(1 - forwardShare / m, p - 1);
  return (total - embedding + q * embedding) / (q / m + (1 - q) / forwardShare);
}

static double boundOf(const ModelCost &model, const Decisions &decisions,
                      const EstimateRequest &request) {
  StageInputs in(model, decisions, request);
  StageBounds least(in);
  double total = least.model(), p = static_cast<double>(decisions.pp);
  double m = static_cast<double>(decisions.numMicroBatches);
  bool isSplit = splitsBackward(decisions.schedule);
  // Stage s starts after the embedding and s layers at least and, but for weights' gradients, ends
  // as many before the end: L >= m t_s + e + s layer, s > 0, and the mean of that over all stages.
  double loop = m * total / p + least.meanBefore(isSplit);
  // One chunk per stage: L >= m t_s + sum of t_i, i < s; least where all of these are equal.
  if (!isSplit && decisions.virtualStages == 1)
    loop = std::max(loop, total / (1 - std::pow(1 - 1 / m, p)));
  if (isSplit && decisions.virtualStages == 1)
    loop =
        std::max(loop, leastSecondsOfSplit(total, least.embedding(), least.forwardShare(), m, p));
  loop = std::max({loop, m * least.slowestStage(), least.overDevices()});
  // A micro-batch goes down all layers and up again; sums in another order differ in their last
  // bits.
  if (decisions.pp > 1)
    loop = std::max(loop, (isSplit ? least.path() : total) * (1 - 1e-9));
  return loop + vocabularySeconds(in) + least.oncePerStep();
}

// Sums the same parts in the same order as boundOf, each no larger: the result is not above it in
// the last bit either.
double floorSeconds(const ModelCost &work, const Decisions &d, const EstimateRequest &request) {
  StageInputs in(work, d, request);
  StageBounds least(in);
  double p = static_cast<double>(d.pp), m = static_cast<double>(d.numMicroBatches);
  double loop = std::max(m * least.model() / p, m * least.slowestStage());
  return d.pp > 1 ? std::max(loop, least.path() * (1 - 1e-9)) : loop;
}

double lowerBoundSeconds(const ModelCost &model, const Decisions &d,
                         const EstimateRequest &request) {
  if (!request.shared || !model.kinds.empty())
    return boundOf(model, d, request);
  auto layers = static_cast<int64_t>(model.cells->chain.size());
  // The bound knows of schedules whether they split the backward pass, of chunks whether there are
  // several and whether the first may be empty, and of layers whether all are on the host.
  Decisions key = d.keepingMost();
  key.schedule =
      splitsBackward(d.schedule) ? ScheduleKind::ZeroBubbleH1 : ScheduleKind::OneForwardOneBackward;
  if (d.virtualStages > 1)
    key.virtualStages = mayBeginEmpty(layers, d.pp * d.virtualStages) ? 3 : 2;
  auto [bound, isNew] =
      request.shared->of(d).bounds.try_emplace(restOf(KeptResult::Estimates, key), 0.0);
  if (isNew)
    bound->second = boundOf(model, d, request);
  return bound->second;
}

} // namespace dtc
