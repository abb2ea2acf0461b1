// Adds up a training step from the costs of its blocks.
#include "compiler/price/estimate/StepEstimate.h"

#include "compiler/price/estimate/StageBounds.h"
#include "compiler/price/estimate/StageChoice.h"
#include "compiler/price/estimate/StageCoster.h"
#include "compiler/price/memory/ProgramMemory.h"
#include "compiler/search/pipeline/LowerBound.h"
#include "compiler/search/pipeline/Makespan.h"
#include "compiler/search/pipeline/Transfers.h"

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
  StageInputs in(model, decisions, request);
  step.transferSeconds = model.transferSeconds;
  step.transfers = model.transfers;
  ChosenStages chosen = chooseStages(in, mayMove);
  step.stages = std::move(chosen.stages);
  step.vocabularySeconds = vocabularySeconds(in);
  if (decisions.dividesVocabulary())
    step.vocabularySeconds += unhiddenOfVocabulary(step.stages, model, decisions);
  if (request.programs)
    takeProgram(step.stages.front(), *request.programs, model,
                withBuckets(decisions, chosen.bucketBytes));
  step.bucketBytes = chosen.bucketBytes;
  step.isCutByMemory = chosen.isCutByMemory;
  step.isMoved = chosen.isMoved;
  step.leastSlowestSeconds = chosen.leastSlowestSeconds;
  step.leastSlowestThatFits = chosen.leastSlowestThatFits;
  double fullest = 0; // as a share of its memory
  for (auto [index, stage] : llvm::enumerate(step.stages)) {
    double bytes = stage.memory.total(), share = bytes / stage.memoryLimit;
    double hostLimit = hostLimitOf(in, index, stage);
    bool usesHost = decisions.offloadOptimizer || stage.offloadedLayers > 0;
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
  const ExposedSeconds &exposed = chosen.exposed[step.slowestStage];
  double m = static_cast<double>(decisions.numMicroBatches);
  step.exposedTpSeconds = m * exposed.tp;
  step.exposedCpSeconds = m * exposed.cp;
  step.exposedEpSeconds = m * exposed.ep;
  step.exposedGatherSeconds = m * exposed.gather;
  step.exposedHostSeconds = m * step.stages[step.slowestStage].hostSeconds;
  if (decisions.offloadOptimizer)
    return step;
  if (!step.isCutByMemory)
    boundWithHost(step, m, StageBounds(in).hostUpdate());
  else if (model.kinds.empty())
    step.leastWithHostSeconds =
        (m * step.leastSlowestSeconds + StageBounds(in).hostUpdate()) * (1 - 1e-9);
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

} // namespace dtc
