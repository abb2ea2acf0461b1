// Turns chosen decisions into a plan.
#include "compiler/search/planner/DescribePlan.h"

#include "compiler/decide/decisions/Words.h"
#include "compiler/price/estimate/GradientCollectives.h"

#include <cmath>

namespace dtc {
namespace {

int64_t whole(double value) { return static_cast<int64_t>(std::llround(value)); }

PlanMemory memoryOf(const MemoryParts &parts) {
  PlanMemory memory;
  memory.parameters = whole(parts.parameters);
  memory.gradients = whole(parts.gradients);
  memory.optimizer = whole(parts.optimizer);
  memory.activations = whole(parts.activations);
  memory.temporaries = whole(parts.temporaries);
  memory.communication = whole(parts.communication);
  memory.reserved = whole(parts.reserved);
  return memory;
}

// Lists the recomputation of each layer, most first: of the stage, or of each of its chunks.
void setRecomputedLayers(PlanStage &stage, const StageEstimate &estimate, const Decisions &d) {
  std::vector<std::string> all;
  for (Recompute recompute : llvm::reverse(kRecomputes))
    all.insert(all.end(), static_cast<size_t>(estimate.layersThat(recompute)),
               toString(recompute).str());
  if (!d.evenRecompute || stage.chunks.size() < 2) {
    stage.recompute = std::move(all);
    return;
  }
  // Orders the layers by their index in their chunk, as recomputeEvenly does.
  std::vector<std::pair<int64_t, size_t>> order;
  for (auto [first, last] : stage.chunks)
    for (int64_t layer = first; layer <= last; ++layer)
      order.push_back({layer - first, order.size()});
  llvm::sort(order);
  stage.recompute.resize(all.size());
  for (auto [each, position] : llvm::zip(all, order))
    stage.recompute[position.second] = std::move(each);
}

PlanStage stageOf(const StageEstimate &estimate, const Decisions &d) {
  PlanStage stage;
  stage.chunks.assign(estimate.chunks.begin(), estimate.chunks.end());
  stage.firstLayer = estimate.chunks.front().first;
  stage.lastLayer = estimate.chunks.back().second;
  double m = static_cast<double>(d.numMicroBatches);
  stage.computeSeconds = m * estimate.computeSeconds;
  stage.exposedCommSeconds = m * estimate.exposedSeconds + estimate.exposedGradientSeconds;
  setRecomputedLayers(stage, estimate, d);
  stage.offloadedLayers = estimate.offloadedLayers;
  stage.forwardSeconds = estimate.forward;
  stage.backwardInputSeconds = estimate.backwardInput;
  stage.backwardWeightSeconds = estimate.backwardWeight;
  stage.inFlight = estimate.inFlight;
  stage.keptBytes = whole(estimate.keptPerMicroBatch);
  stage.memory = memoryOf(estimate.memory);
  for (const ChunkTimes &times : estimate.chunkTimes)
    stage.chunkTimes.push_back(
        {times.forward, times.backwardInput, times.backwardWeight, times.activationBytes});
  stage.gradientSeconds = estimate.exposedGradientSeconds;
  stage.optimizerSeconds = estimate.optimizerSeconds;
  stage.hostBytes = whole(estimate.hostBytes);
  stage.peakMemoryBytes = stage.memory.total();
  return stage;
}

void predict(Plan &plan, const StepEstimate &step, const PlanRequest &request,
             const ModelFacts &facts) {
  PlanPrediction &p = plan.predicted;
  double devices = static_cast<double>(plan.devices);
  p.stepSeconds = step.stepSeconds;
  p.tokensPerSecond = static_cast<double>(plan.globalBatch * plan.sequenceLength) / p.stepSeconds;
  p.tflopsPerDevice = plan.flopsPerStep / p.stepSeconds / devices / 1e12;
  double peak = request.topology.meanPeak(computeTypeOf(request.precision));
  p.mfu = peak > 0 ? p.tflopsPerDevice * 1e12 / peak : 0;
  if (facts.flopsPerSample > 0)
    p.mfuCausal = p.mfu * (facts.causalFlopsPerSample / facts.flopsPerSample);
  p.bubbleFraction = step.bubbleSeconds / step.stepSeconds;
  p.exposedCommSeconds = step.exposedCommSeconds();
  p.peakMemoryBytes = plan.stages[step.fullestStage].peakMemoryBytes;
  p.memory = plan.stages[step.fullestStage].memory;
  for (const PlanStage &stage : plan.stages)
    p.hostMemoryBytes = std::max(p.hostMemoryBytes, stage.hostBytes);
  p.fits = step.fits;
  p.transferSeconds = step.transferSeconds;
  p.transfers = step.transfers;
  p.loopSeconds = step.loopSeconds;
  p.vocabularySeconds = step.vocabularySeconds;
  PlanTimes &times = p.times;
  times.recompute = step.recomputeSeconds;
  times.compute = step.computeSeconds - step.recomputeSeconds;
  times.exposedTensor = step.exposedTpSeconds;
  times.exposedContext = step.exposedCpSeconds;
  times.exposedExpert = step.exposedEpSeconds;
  times.exposedGathers = step.exposedGatherSeconds;
  times.exposedHost = step.exposedHostSeconds;
  times.exposedGradients = step.exposedGradientSeconds;
  times.stageTransfers = step.p2pSeconds;
  times.optimizer = step.optimizerSeconds;
  // The rest of the slowest stage's step is spent waiting for other stages.
  times.bubble = std::max(0.0, step.stepSeconds - step.computeSeconds - p.exposedCommSeconds -
                                   times.optimizer);
}

} // namespace

void setTransfers(Plan &plan, const Candidate &candidate) {
  PlanTimes &times = plan.predicted.times;
  if (!candidate.step.isRefined)
    return;
  double seconds =
      std::min(times.bubble, exposedTransferSeconds(candidate.step, candidate.decisions));
  times.bubble -= seconds;
  times.stageTransfers += seconds;
  plan.predicted.exposedCommSeconds += seconds;
}

void setRanks(Plan &plan, const Candidate &candidate, const Topology &topology) {
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    plan.stages[stage].ranks =
        ranksOfStage(candidate.decisions, topology, static_cast<int64_t>(stage));
}

Plan describePlan(const Candidate &candidate, const PlanRequest &request, const ModelFacts &facts) {
  const Decisions &d = candidate.decisions;
  Plan plan;
  plan.modelName = facts.name;
  plan.modelShape = facts.shape;
  plan.modelSlides = facts.slides;
  plan.architecture = facts.architecture;
  plan.parameters = facts.parameters;
  plan.frozenParameters = facts.frozen;
  plan.sequenceLength = facts.sequenceLength;
  plan.flopsPerStep = facts.flopsPerSample * static_cast<double>(request.globalBatch);
  plan.topologyName = request.topology.name;
  plan.devices = request.topology.numDevices();
  plan.nodes = request.topology.nodes;
  plan.decisions = decisionsOf(candidate);
  plan.globalBatch = request.globalBatch;
  plan.precision = request.precision;
  plan.origin.gradDtype = request.programGradDtype();
  plan.optimizer = request.optimizer;
  plan.optimizerState = request.optimizerState;
  for (size_t stage = 0; stage < candidate.step.stages.size(); ++stage)
    plan.stages.push_back(stageOf(candidate.step.stages[stage], d));
  predict(plan, candidate.step, request, facts);
  return plan;
}

} // namespace dtc
