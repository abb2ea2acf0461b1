// Turns chosen decisions into a plan.
#include "compiler/planner/DescribePlan.h"

#include "compiler/plan/PlanSchedule.h"

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

std::string orderText(const AxisOrder &order) {
  std::string text;
  for (char axis : order)
    text += (text.empty() ? "" : " ") + std::string(1, axis) + "p";
  return text;
}

// The mean of all devices, flop/s.
double peakOf(const Topology &topology, ComputeType type) {
  if (topology.isHomogeneous())
    return topology.device.peak(type);
  double sum = 0;
  for (const Topology &part : topology.parts)
    sum += part.device.peak(type) * static_cast<double>(part.numDevices());
  return sum / static_cast<double>(topology.numDevices());
}

PlanStage stageOf(const StageEstimate &estimate, const Decisions &d) {
  PlanStage stage;
  stage.chunks = estimate.chunks;
  stage.firstLayer = estimate.chunks.front().first;
  stage.lastLayer = estimate.chunks.back().second;
  double m = static_cast<double>(d.numMicroBatches);
  stage.computeSeconds = m * estimate.computeSeconds;
  stage.exposedCommSeconds = m * estimate.exposedSeconds + estimate.exposedGradientSeconds;
  int64_t layers = 0;
  for (auto [first, last] : estimate.chunks)
    layers += last - first + 1;
  for (int64_t layer = 0; layer < layers; ++layer)
    stage.recompute.push_back(layer < estimate.fullLayers                              ? "full"
                              : layer < estimate.fullLayers + estimate.selectiveLayers ? "selective"
                                                                                       : "none");
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

// One word for all layers.
std::string recomputeOf(const std::vector<PlanStage> &stages) {
  std::string common;
  for (const PlanStage &stage : stages)
    for (const std::string &layer : stage.recompute) {
      if (common.empty())
        common = layer;
      if (layer != common)
        return "mixed";
    }
  return common.empty() ? "none" : common;
}

void predict(Plan &plan, const StepEstimate &step, const PlanRequest &request) {
  PlanPrediction &p = plan.predicted;
  double devices = static_cast<double>(plan.devices);
  p.stepSeconds = step.stepSeconds;
  p.tokensPerSecond = static_cast<double>(plan.globalBatch * plan.sequenceLength) / p.stepSeconds;
  p.tflopsPerDevice = plan.flopsPerStep / p.stepSeconds / devices / 1e12;
  ComputeType type = computeTypeFrom(request.precision).value_or(ComputeType::F32);
  double peak = peakOf(request.topology, type);
  p.mfu = peak > 0 ? p.tflopsPerDevice * 1e12 / peak : 0;
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
  PlanTimes &times = p.times;
  times.recompute = step.recomputeSeconds;
  times.compute = step.computeSeconds - step.recomputeSeconds;
  times.exposedTensor = step.exposedTpSeconds;
  times.exposedContext = step.exposedCpSeconds;
  times.exposedExpert = step.exposedEpSeconds;
  times.exposedGathers = step.exposedGatherSeconds;
  times.exposedGradients = step.exposedGradientSeconds;
  times.stageTransfers = step.p2pSeconds;
  times.optimizer = step.optimizerSeconds;
  // What is left of the slowest stage's step is waiting for others.
  times.bubble = std::max(0.0, step.stepSeconds - step.computeSeconds - p.exposedCommSeconds -
                                   times.optimizer);
}

} // namespace

void tellTransfers(Plan &plan, const Candidate &candidate) {
  PlanTimes &times = plan.predicted.times;
  if (!candidate.step.isRefined)
    return;
  double seconds =
      std::min(times.bubble, exposedTransferSeconds(candidate.step, candidate.decisions));
  times.bubble -= seconds;
  times.stageTransfers += seconds;
  plan.predicted.exposedCommSeconds += seconds;
}

void tellRanks(Plan &plan, const Candidate &candidate, const Topology &topology) {
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    plan.stages[stage].ranks =
        ranksOfStage(candidate.decisions, topology, static_cast<int64_t>(stage));
}

Plan describePlan(const Candidate &candidate, const PlanRequest &request, const ModelFacts &facts) {
  const Decisions &d = candidate.decisions;
  Plan plan;
  plan.modelName = facts.name;
  plan.parameters = facts.parameters;
  plan.sequenceLength = facts.sequenceLength;
  plan.flopsPerStep = facts.flopsPerSample * static_cast<double>(request.globalBatch);
  plan.topologyName = request.topology.name;
  plan.devices = request.topology.numDevices();
  plan.nodes = request.topology.nodes;
  plan.dp = d.dp;
  plan.tp = d.tp;
  plan.pp = d.pp;
  plan.cp = d.cp;
  plan.ep = d.ep;
  plan.sequenceParallel = d.sequenceParallel;
  plan.zero = d.zero;
  plan.microBatch = d.microBatch;
  plan.numMicroBatches = d.numMicroBatches;
  plan.globalBatch = request.globalBatch;
  plan.schedule = planNameOf(d.schedule).str();
  plan.virtualStages = d.virtualStages;
  plan.axisOrder = orderText(d.order);
  plan.placement = d.placement > 0 ? "searched" : "policy";
  plan.offloadOptimizer = d.offloadOptimizer;
  plan.overlapGradients = candidate.step.bucketBytes != kOneBucket;
  plan.bucketBytes = plan.overlapGradients ? candidate.step.bucketBytes : 0;
  plan.precision = request.precision;
  plan.optimizer = request.optimizer;
  for (size_t stage = 0; stage < candidate.step.stages.size(); ++stage)
    plan.stages.push_back(stageOf(candidate.step.stages[stage], d));
  plan.recompute = recomputeOf(plan.stages);
  predict(plan, candidate.step, request);
  return plan;
}

} // namespace dtc
