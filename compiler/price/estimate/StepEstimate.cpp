// Adds up a training step from the costs of its blocks.
#include "compiler/price/estimate/StepEstimate.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/price/estimate/StageCoster.h"
#include "compiler/price/estimate/StageTransfers.h"
#include "compiler/price/memory/ProgramMemory.h"
#include "compiler/search/pipeline/LowerBound.h"
#include "compiler/search/pipeline/Makespan.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dtc {
namespace {

// The share of transfers between stages that virtual stages hide: they run beside another chunk.
// Source: overlap_p2p_communication of Megatron-LM's schedules.py.
constexpr double kInterleavedHidden = 1;

// Adds up the seconds of a step from stages that are costed.
class Pipeline {
public:
  Pipeline(const Decisions &decisions, const Overlap &overlap, StepEstimate &step)
      : d(decisions), overlap(overlap), step(step) {}

  void run() {
    double m = static_cast<double>(d.numMicroBatches), p = static_cast<double>(d.pp);
    double slowest = 0, sum = 0;
    for (auto [index, stage] : llvm::enumerate(step.stages)) {
      if (stage.microBatch() > slowest) {
        slowest = stage.microBatch();
        step.slowestStage = index;
      }
      sum += stage.microBatch();
    }
    double transfers = transferSeconds();
    double fill = fillSeconds(slowest, sum);
    double loop = m * slowest + fill + transfers + step.vocabularySeconds;
    const StageEstimate &slow = step.stages[step.slowestStage];
    double vocabulary = m * slow.vocabularySeconds; // equal on every stage
    step.bubbleSeconds = std::max(0.0, loop - transfers - m * sum / p - vocabulary);
    step.p2pSeconds = transfers;
    step.computeSeconds = m * slow.computeSeconds;
    step.recomputeSeconds = m * slow.recomputeSeconds;
    double gradients = 0, optimizer = 0;
    for (const StageEstimate &stage : step.stages) {
      gradients = std::max(gradients, stage.exposedGradientSeconds);
      optimizer = std::max(optimizer, stage.optimizerSeconds);
    }
    step.exposedGradientSeconds = gradients;
    step.optimizerSeconds = optimizer;
    step.loopSeconds = loop;
    step.stepSeconds = loop + gradients + optimizer;
  }

private:
  // Returns the seconds beyond the slowest stage's own work: fill and drain.
  double fillSeconds(double slowest, double sum) const {
    double v = static_cast<double>(d.virtualStages), p = static_cast<double>(d.pp);
    switch (d.schedule) {
    case ScheduleKind::GPipe:
    case ScheduleKind::OneForwardOneBackward:
      return sum - slowest;
    case ScheduleKind::Interleaved:
      return (sum - slowest) / v;
    case ScheduleKind::ZeroBubbleH1: {
      double fill = 0;
      for (const StageEstimate &stage : step.stages)
        fill += std::max(0.0, stage.forward + stage.backwardInput - stage.backwardWeight);
      return fill * static_cast<double>(d.pp - 1) / static_cast<double>(d.pp);
    }
    case ScheduleKind::ZeroBubbleV: {
      // Full steady state from 2 p micro-batches on; below that the missing ones are idle.
      double missing = std::max<double>(0, 2 * static_cast<double>(d.pp) -
                                               static_cast<double>(d.numMicroBatches));
      return missing * slowest / 4;
    }
    case ScheduleKind::ZeroBubble2P: {
      // Qi et al. 2023, table 1: (p - 1) (F + B - 2 W). But the last stage starts after p - 1
      // forwards, and the first one's 2 p - 1 do not fill p F + (p - 1) B until its first backward
      // where B is long.
      double fill = 0;
      for (const StageEstimate &stage : step.stages)
        fill +=
            std::max({stage.forward, stage.forward + stage.backwardInput - 2 * stage.backwardWeight,
                      stage.backwardInput - stage.forward});
      return fill * (p - 1) / p;
    }
    // Qi et al. 2024, table 1: a half and two thirds of 1F1B's.
    case ScheduleKind::VHalf:
      return (sum - slowest) / 2;
    case ScheduleKind::VMin:
      return (sum - slowest) * 2 / 3;
    }
    return sum - slowest;
  }

  // Returns the seconds that stages wait for transfers: twice a micro-batch if nothing hides them,
  // and the way of the first micro-batch down and of the last one up.
  double transferSeconds() const {
    if (d.pp == 1)
      return 0;
    double v = static_cast<double>(d.virtualStages), m = static_cast<double>(d.numMicroBatches);
    double hidden = d.virtualStages > 1 ? kInterleavedHidden : overlap.transfers;
    double way = 2 * static_cast<double>(d.pp - 1) * step.transferSeconds;
    if (!step.transfers.empty())
      way = 2 * std::accumulate(step.transfers.begin(), step.transfers.end(), 0.0);
    return way + 2 * m * v * (1 - hidden) * step.transferSeconds;
  }

  const Decisions &d;
  const Overlap &overlap;
  StepEstimate &step;
};

} // namespace

// Sets the time of all micro-batches. All of it that is neither work nor `transfers` is bubble.
static void setLoop(StepEstimate &step, double seconds, double transfers) {
  double change = seconds - step.loopSeconds;
  step.loopSeconds += change;
  step.stepSeconds += change;
  step.bubbleSeconds = std::max(0.0, step.bubbleSeconds + step.p2pSeconds - transfers + change);
  step.p2pSeconds = transfers;
}

// Sets what is known of the step with its update on the host: the slowest stage does all its work.
// `leastUpdate`: seconds of an update on the host, in any cut.
static void boundWithHost(StepEstimate &step, double microBatches, double leastUpdate) {
  bool isSame = step.fits, isSlower = true;
  double slowest = 0, update = 0;
  for (const StageEstimate &stage : step.stages) {
    isSame &= stage.microBatchWithoutStates == stage.microBatch();
    isSlower &= stage.hostOptimizerSeconds >= stage.optimizerSeconds;
    slowest = std::max(slowest, stage.microBatchWithoutStates);
    update = std::max(update, stage.hostOptimizerSeconds);
  }
  constexpr double rounding = 1 - 1e-9; // sums in another order differ in their last bits
  bool isBestCut = slowest * rounding <= step.leastSlowestSeconds || step.leastSlowestSeconds == 0;
  if (!isBestCut) {
    slowest = step.leastSlowestSeconds;
    update = leastUpdate;
  }
  step.hostGainsMemoryAlone = isSame && isSlower && isBestCut;
  step.leastWithHostSeconds = (microBatches * slowest + update) * rounding;
}

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

// Returns what all layers of the stage recompute; nullopt if they differ.
static std::optional<Recompute> recomputeOf(const StageEstimate &stage) {
  int64_t layers = 0;
  for (auto [first, last] : stage.chunks)
    layers += last - first + 1;
  for (Recompute recompute : kRecomputes)
    if (stage.layersThat(recompute) == layers)
      return recompute;
  return std::nullopt;
}

Decisions withBuckets(const Decisions &decisions, int64_t bucketBytes) {
  Decisions d = decisions;
  d.overlapGradients = bucketBytes != kOneBucket;
  d.bucketBytes = d.overlapGradients ? bucketBytes : 0;
  return d;
}

// Replaces the memory of a stage by that of its program, but for what the stack holds beside it.
static void takeProgram(StageEstimate &stage, ProgramMemory &programs, const ModelCost &model,
                        Decisions decisions) {
  std::optional<Recompute> recompute = recomputeOf(stage);
  if (!recompute)
    return;
  decisions.recompute = decisions.recomputeMost = *recompute;
  MemoryParts &memory = stage.memory;
  std::optional<MemoryParts> program = programs.of(
      decisions, *model.placements, stage.memoryLimit - memory.communication - memory.reserved);
  if (!program)
    return;
  if (decisions.offloadOptimizer)
    stage.hostBytes = stage.statesOnHost = program->onHost;
  program->communication += memory.communication;
  program->reserved += memory.reserved;
  memory = *program;
}

// Notes the need of a stage if it is the largest so far. `hostLimit`: bytes; 0 if the host holds
// nothing of the stage.
static void noteNeed(StepEstimate &step, double share, double hostBytes, double hostLimit) {
  double hostShare = hostBytes > 0 ? hostBytes / hostLimit : 0;
  if (double need = std::max(share, hostShare); need > step.memoryNeed) {
    step.memoryNeed = need;
    step.hostIsShort = hostShare > share;
    step.hostBytes = hostBytes;
    step.hostLimitBytes = hostLimit;
  }
}

// Returns the exposed seconds of the vocabulary's collectives. Stages wait for the rest of each
// that takes longer than all compute of a micro-batch on every stage.
static double unhiddenOfVocabulary(llvm::ArrayRef<StageEstimate> stages, const ModelCost &model,
                                   const Decisions &decisions) {
  double beside = 0;
  for (const StageEstimate &stage : stages)
    beside = std::max(beside, stage.microBatch() + stage.vocabularySeconds);
  return static_cast<double>(decisions.numMicroBatches) *
         std::max(0.0, model.vocabulary->collectives - beside);
}

static StepEstimate estimateCut(const ModelCost &model, const Decisions &decisions,
                                const EstimateRequest &request, bool mayMove) {
  StepEstimate step;
  StageCoster coster(model, decisions, request);
  step.transferSeconds = model.transferSeconds;
  step.transfers = model.transfers;
  step.stages = coster.stages(mayMove);
  step.vocabularySeconds = coster.vocabularySeconds();
  if (decisions.vocabOverPp > 0)
    step.vocabularySeconds += unhiddenOfVocabulary(step.stages, model, decisions);
  if (request.programs)
    takeProgram(step.stages.front(), *request.programs, model,
                withBuckets(decisions, coster.bucketBytes()));
  step.bucketBytes = coster.bucketBytes();
  step.isCutByMemory = coster.cutsByMemory();
  step.isMoved = coster.isMoved();
  step.leastSlowestSeconds = coster.leastSlowestSeconds();
  step.leastSlowestThatFits = coster.leastSlowestThatFits();
  double fullest = 0; // as a share of its memory
  for (auto [index, stage] : llvm::enumerate(step.stages)) {
    double bytes = stage.memory.total(), share = bytes / stage.memoryLimit;
    double hostLimit = coster.hostLimitOf(index, stage);
    bool usesHost = decisions.offloadOptimizer || stage.layersOnHost > 0;
    bool hostHolds = !usesHost || (hostLimit > 0 && stage.hostBytes <= hostLimit);
    step.fits &= bytes <= stage.memoryLimit && hostHolds;
    noteNeed(step, share, stage.hostBytes, usesHost ? hostLimit : 0);
    if (share > fullest) {
      fullest = share;
      step.peakBytes = bytes;
      step.fullestStage = index;
    }
  }
  Pipeline(decisions, model.overlap, step).run();
  step.leastLoopSeconds =
      decisions.pp > 1 ? makespanLowerBound(pipelineOf(step, decisions)) + step.vocabularySeconds
                       : step.loopSeconds;
  setLoop(step, std::max(step.loopSeconds, step.leastLoopSeconds), step.p2pSeconds);
  const auto exposed = coster.exposedOf(step.slowestStage);
  double m = static_cast<double>(decisions.numMicroBatches);
  step.exposedTpSeconds = m * exposed.tp;
  step.exposedCpSeconds = m * exposed.cp;
  step.exposedEpSeconds = m * exposed.ep;
  step.exposedGatherSeconds = m * exposed.gather;
  step.exposedHostSeconds = m * step.stages[step.slowestStage].hostSeconds;
  if (decisions.offloadOptimizer)
    return step;
  if (!step.isCutByMemory)
    boundWithHost(step, m, coster.leastHostUpdateSeconds());
  else if (model.kinds.empty())
    step.leastWithHostSeconds =
        (m * step.leastSlowestSeconds + coster.leastHostUpdateSeconds()) * (1 - 1e-9);
  return step;
}

// Returns the seconds by which two cuts are compared. ZB-2P is refined, as its closed form is that
// of equal stages.
static double secondsOfCut(StepEstimate step, const Decisions &decisions) {
  if (decisions.schedule == ScheduleKind::ZeroBubble2P)
    refineBySchedule(step, decisions);
  return step.stepSeconds;
}

StepEstimate estimateStep(const ModelCost &model, const Decisions &decisions,
                          const EstimateRequest &request) {
  StepEstimate step = estimateCut(model, decisions, request, /*mayMove=*/true);
  if (!step.isMoved)
    return step;
  // The slowest stage is faster in this cut, but waits of other stages, or an update, may take
  // longer.
  StepEstimate usual = estimateCut(model, decisions, request, /*mayMove=*/false);
  usual.leastSlowestThatFits = step.leastSlowestThatFits;
  bool isOpen = usual.fits || request.ignoresMemory;
  bool mustReplace = !step.fits && !request.ignoresMemory;
  bool isBetter =
      isOpen && (mustReplace || secondsOfCut(usual, decisions) < secondsOfCut(step, decisions));
  if (isBetter)
    std::swap(usual, step);
  // The closed forms of several chunks are those of equal stages.
  if (decisions.virtualStages > 1 && (usual.fits || request.ignoresMemory)) {
    // Refining may take either of them.
    step.leastWithHostSeconds = usual.leastWithHostSeconds =
        std::min(step.leastWithHostSeconds, usual.leastWithHostSeconds);
    step.hostGainsMemoryAlone = usual.hostGainsMemoryAlone =
        step.hostGainsMemoryAlone && usual.hostGainsMemoryAlone;
    step.otherCut = std::make_shared<StepEstimate>(std::move(usual));
  }
  return step;
}

PipelineProblem pipelineOf(const StepEstimate &step, const Decisions &decisions) {
  PipelineProblem problem;
  problem.kind = decisions.schedule;
  problem.stages = static_cast<int>(decisions.pp);
  problem.virtualStages = static_cast<int>(decisions.virtualStages);
  problem.microBatches = static_cast<int>(decisions.numMicroBatches);
  std::vector<size_t> taken(step.stages.size(), 0);
  for (int chunk = 0; chunk < problem.stages * problem.virtualStages; ++chunk) {
    size_t stage = static_cast<size_t>(stageOfChunk(problem.kind, problem.stages, chunk));
    problem.chunks.push_back(step.stages[stage].chunkTimes[taken[stage]++]);
  }
  setTransfers(problem, step.transferSeconds, step.transfers);
  return problem;
}

double exposedTransferSeconds(const StepEstimate &step, const Decisions &decisions) {
  if (decisions.pp == 1)
    return 0;
  PipelineProblem problem = pipelineOf(step, decisions);
  for (ChunkTimes &chunk : problem.chunks)
    chunk.sendForward = chunk.sendBackward = 0;
  Result<double> without = pipelineMakespan(problem);
  return without ? std::max(0.0, step.loopSeconds - step.vocabularySeconds - *without) : 0;
}

void refineBySchedule(StepEstimate &step, const Decisions &decisions) {
  if (std::shared_ptr<const StepEstimate> other = std::move(step.otherCut)) {
    StepEstimate second = *other;
    if (second.leastSeconds() < step.leastSeconds())
      std::swap(second, step);
    refineBySchedule(step, decisions);
    if (second.leastSeconds() >= step.stepSeconds)
      return;
    refineBySchedule(second, decisions);
    if (second.stepSeconds < step.stepSeconds)
      step = std::move(second);
    return;
  }
  step.isRefined = true;
  if (decisions.pp > 1)
    if (Result<double> makespan = pipelineMakespan(pipelineOf(step, decisions)))
      // Transfers are inside the makespan: what is not work is a bubble.
      setLoop(step, *makespan + step.vocabularySeconds, 0);
  step.leastLoopSeconds = step.loopSeconds;
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
  double kept = d.layersOnHost == LayersOnHost::None
                    ? model.allKept[static_cast<size_t>(d.recomputeMost)]
                    : 0;
  return leastBytes(model, d, request, kept, request.precision.gradientBytes) <=
         request.memoryLimit;
}

bool mayFitWithin(const ModelCost &model, const Decisions &d, const EstimateRequest &request,
                  double seconds) {
  return request.programs || request.ignoresMemory ||
         StageCoster(model, d, request).mayFitWithin(seconds);
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
  StageCoster coster(model, decisions, request);
  double total = coster.leastSecondsOfModel(), p = static_cast<double>(decisions.pp);
  double m = static_cast<double>(decisions.numMicroBatches);
  bool isSplit = splitsBackward(decisions.schedule);
  // Stage s starts after the embedding and s layers at least and, but for weights' gradients, ends
  // as many before the end: L >= m t_s + e + s layer, s > 0, and the mean of that over all stages.
  double loop = m * total / p + coster.meanLeastSecondsBefore(isSplit);
  // One chunk per stage: L >= m t_s + sum of t_i, i < s; least where all of these are equal.
  if (!isSplit && decisions.virtualStages == 1)
    loop = std::max(loop, total / (1 - std::pow(1 - 1 / m, p)));
  if (isSplit && decisions.virtualStages == 1)
    loop = std::max(loop, leastSecondsOfSplit(total, coster.leastSecondsOfEmbedding(),
                                              coster.leastForwardShare(), m, p));
  loop =
      std::max({loop, m * coster.leastSecondsOfSlowestStage(), coster.leastSecondsOverDevices()});
  // A micro-batch goes down all layers and up again; sums in another order differ in their last
  // bits.
  if (decisions.pp > 1)
    loop = std::max(loop, (isSplit ? coster.leastSecondsOfPath() : total) * (1 - 1e-9));
  return loop + coster.vocabularySeconds() + coster.leastSecondsOncePerStep();
}

// Sums the same parts in the same order as boundOf, each no larger: the result is not above it in
// the last bit either.
double floorSeconds(const ModelCost &work, const Decisions &d, const EstimateRequest &request) {
  StageCoster coster(work, d, request);
  double p = static_cast<double>(d.pp), m = static_cast<double>(d.numMicroBatches);
  double loop =
      std::max(m * coster.leastSecondsOfModel() / p, m * coster.leastSecondsOfSlowestStage());
  return d.pp > 1 ? std::max(loop, coster.leastSecondsOfPath() * (1 - 1e-9)) : loop;
}

double lowerBoundSeconds(const ModelCost &model, const Decisions &d,
                         const EstimateRequest &request) {
  if (!request.shared || !model.kinds.empty())
    return boundOf(model, d, request);
  auto layers = static_cast<int64_t>(model.cells->chain.size());
  // The bound knows of schedules whether they split the backward pass, of chunks whether there are
  // several and whether the first may be empty, and of layers whether all are on the host.
  Decisions key = d;
  key.schedule =
      splitsBackward(d.schedule) ? ScheduleKind::ZeroBubbleH1 : ScheduleKind::OneForwardOneBackward;
  if (d.virtualStages > 1)
    key.virtualStages = mayBeginEmpty(layers, d.pp * d.virtualStages) ? 3 : 2;
  if (d.layersOnHost == LayersOnHost::Some)
    key.layersOnHost = LayersOnHost::None;
  key.recomputeMost = d.recompute;
  auto [bound, isNew] =
      request.shared->of(d).bounds.try_emplace(restOf(KeptResult::Estimates, key), 0.0);
  if (isNew)
    bound->second = boundOf(model, d, request);
  return bound->second;
}

} // namespace dtc
