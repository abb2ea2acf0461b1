// The pipeline that a plan describes.
#include "compiler/explain/PlanPipeline.h"

#include "compiler/estimate/StageTransfers.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtc {
namespace {

UserError cannot(const std::string &why, const std::string &mend) {
  return UserError("simulating the plan: " + why, mend);
}

constexpr const char *kPlanAgain = "make the plan again with 'dtc plan -o plan.json'";

int64_t headBytes(const PlanStage &stage) {
  int64_t chunks = 0;
  for (const PlanChunk &chunk : stage.chunkTimes)
    chunks += chunk.keptBytes;
  return std::max<int64_t>(0, chunks - stage.keptBytes);
}

bool holdsHead(const Plan &plan, size_t stage) {
  int64_t last = 0;
  for (const PlanStage &each : plan.stages)
    last = std::max(last, each.lastLayer);
  return plan.stages[stage].lastLayer == last;
}

// What the head keeps is alive for one micro-batch, however many are in flight.
int64_t headBytesOf(const Plan &plan, size_t stage) {
  return holdsHead(plan, stage) ? headBytes(plan.stages[stage]) : 0;
}

// Bytes in memory over bytes that the layers keep: what the allocator adds.
double spreadOf(const PlanStage &stage, int64_t head) {
  double counted =
      stage.inFlight * static_cast<double>(stage.keptBytes) + static_cast<double>(head);
  return counted > 0 ? static_cast<double>(stage.memory.activations) / counted : 1;
}

// Without times of its own a chunk has the share of its layers.
std::vector<PlanChunk> chunksOf(const PlanStage &stage) {
  if (stage.chunkTimes.size() == stage.chunks.size())
    return stage.chunkTimes;
  double layers = 0;
  for (auto [first, last] : stage.chunks)
    layers += static_cast<double>(last - first + 1);
  std::vector<PlanChunk> chunks;
  for (auto [first, last] : stage.chunks) {
    double share = layers > 0 ? static_cast<double>(last - first + 1) / layers
                              : 1 / static_cast<double>(stage.chunks.size());
    chunks.push_back({stage.forwardSeconds * share, stage.backwardInputSeconds * share,
                      stage.backwardWeightSeconds * share,
                      std::llround(static_cast<double>(stage.keptBytes) * share)});
  }
  return chunks;
}

Outcome checkStages(const Plan &plan) {
  if (plan.stages.empty() || static_cast<int64_t>(plan.stages.size()) != plan.decisions.pp)
    return cannot("it has " + std::to_string(plan.stages.size()) +
                      " stages, wanted pp = " + std::to_string(plan.decisions.pp),
                  kPlanAgain);
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const PlanStage &each = plan.stages[stage];
    if (static_cast<int64_t>(each.chunks.size()) != plan.decisions.virtualStages)
      return cannot("stage " + std::to_string(stage) + " has " +
                        std::to_string(each.chunks.size()) + " runs of layers, wanted " +
                        "virtual_stages = " + std::to_string(plan.decisions.virtualStages),
                    kPlanAgain);
    if (each.forwardSeconds <= 0 && plan.predicted.stepSeconds > 0)
      return cannot("stage " + std::to_string(stage) + " has no 'forward_s'", kPlanAgain);
  }
  if (plan.decisions.numMicroBatches > std::numeric_limits<int>::max())
    return cannot("it has " + std::to_string(plan.decisions.numMicroBatches) + " micro-batches",
                  "plan with a larger micro-batch");
  size_t boundaries = plan.predicted.transfers.size();
  if (boundaries != 0 && boundaries + 1 != plan.stages.size())
    return cannot("it has 'transfers_s' of " + std::to_string(boundaries) + " boundaries between " +
                      std::to_string(plan.stages.size()) + " stages",
                  kPlanAgain);
  return {};
}

} // namespace

Result<PipelineProblem> pipelineOfPlan(const Plan &plan) {
  if (Outcome checked = checkStages(plan); !checked)
    return checked.error();
  // Time and memory go with the forward and backward parts of all micro-batches.
  constexpr double kMostParts = 1 << 21;
  double parts = 2.0 * static_cast<double>(plan.decisions.pp * plan.decisions.virtualStages) *
                 static_cast<double>(plan.decisions.numMicroBatches);
  if (parts > kMostParts)
    return cannot(llvm::formatv("it has {0:e1} forward and backward parts, wanted at most {1:e1}",
                                parts, kMostParts)
                      .str(),
                  "plan with a larger micro_batch, or fewer samples a step");
  PipelineProblem problem;
  problem.kind = plan.decisions.schedule;
  problem.stages = static_cast<int>(plan.decisions.pp);
  problem.virtualStages = static_cast<int>(plan.decisions.virtualStages);
  problem.microBatches = static_cast<int>(plan.decisions.numMicroBatches);
  std::vector<std::vector<PlanChunk>> chunks;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    chunks.push_back(chunksOf(plan.stages[stage]));
    chunks.back().back().keptBytes -= headBytesOf(plan, stage);
  }
  std::vector<size_t> taken(plan.stages.size(), 0);
  for (int chunk = 0; chunk < problem.stages * problem.virtualStages; ++chunk) {
    size_t stage = static_cast<size_t>(stageOfChunk(problem.kind, problem.stages, chunk));
    const PlanChunk &from = chunks[stage][taken[stage]++];
    ChunkTimes times;
    times.forward = from.forwardSeconds;
    times.backwardInput = from.backwardInputSeconds;
    times.backwardWeight = from.backwardWeightSeconds;
    double spread = spreadOf(plan.stages[stage], headBytesOf(plan, stage));
    times.activationBytes = std::llround(static_cast<double>(from.keptBytes) * spread);
    problem.chunks.push_back(times);
  }
  if (plan.decisions.pp > 1)
    setTransfers(problem, plan.predicted.transferSeconds, plan.predicted.transfers);
  return problem;
}

Result<StepSimulation> simulatePlan(const Plan &plan) {
  Result<PipelineProblem> problem = pipelineOfPlan(plan);
  if (!problem)
    return problem.error();
  StepSettings settings;
  for (size_t index = 0; index < plan.stages.size(); ++index) {
    const PlanStage &stage = plan.stages[index];
    std::string name = "stage " + std::to_string(index);
    if (!stage.ranks.empty())
      name += " (" + std::to_string(stage.ranks.size()) +
              (stage.ranks.size() == 1 ? " rank, from " : " ranks, from ") +
              std::to_string(stage.ranks.front()) + ")";
    settings.stageNames.push_back(std::move(name));
    settings.tails.push_back({stage.gradientSeconds, stage.optimizerSeconds});
    int64_t head = headBytesOf(plan, index);
    double headHeld = static_cast<double>(head) * spreadOf(stage, head);
    settings.residentBytes.push_back(stage.memory.total() - stage.memory.activations +
                                     std::llround(headHeld));
  }
  return simulateStep(*problem, settings);
}

Result<SimulatedStep> compareWithSimulation(const Plan &plan) {
  Result<StepSimulation> simulation = simulatePlan(plan);
  if (!simulation)
    return simulation.error();
  SimulatedStep step;
  for (const PlanStage &stage : plan.stages) {
    step.gradientSeconds = std::max(step.gradientSeconds, stage.gradientSeconds);
    step.optimizerSeconds = std::max(step.optimizerSeconds, stage.optimizerSeconds);
  }
  step.loopSeconds = simulation->timing.makespan;
  step.stepSeconds = simulation->result.makespan;
  step.predictedLoopSeconds =
      plan.predicted.loopSeconds > 0
          ? plan.predicted.loopSeconds
          : plan.predicted.stepSeconds - step.gradientSeconds - step.optimizerSeconds;
  step.simulation = std::move(*simulation);
  return step;
}

} // namespace dtc
