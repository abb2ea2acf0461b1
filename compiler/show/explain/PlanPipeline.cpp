// The pipeline that a plan describes.
#include "compiler/show/explain/PlanPipeline.h"

#include <algorithm>
#include <cmath>

namespace dtc {
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
  // The stages stop for their shares of the vocabulary, all as long.
  step.loopSeconds = simulation->timing.makespan + plan.predicted.vocabularySeconds;
  step.stepSeconds = simulation->result.makespan + plan.predicted.vocabularySeconds;
  step.predictedLoopSeconds =
      plan.predicted.loopSeconds > 0
          ? plan.predicted.loopSeconds
          : plan.predicted.stepSeconds - step.gradientSeconds - step.optimizerSeconds;
  step.simulation = std::move(*simulation);
  return step;
}

} // namespace dtc
