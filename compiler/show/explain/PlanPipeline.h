// The pipeline that a plan describes, for the scheduler and the simulator.
#pragma once

#include "compiler/decide/plan/PlanOrders.h"
#include "compiler/show/simulate/PipelineSimulation.h"

namespace dtc {

// The step of a plan, its gradients' collectives and update after each stage's last backward, with
// all that stays in memory below the activations. Without the host's seconds.
Result<StepSimulation> simulatePlan(const Plan &plan);

// The seconds of a step as the plan predicts them and as simulated.
struct SimulatedStep {
  StepSimulation simulation;
  double loopSeconds = 0;          // all micro-batches, simulated
  double stepSeconds = 0;          // simulated, gradients, update and host included
  double predictedLoopSeconds = 0; // all micro-batches, predicted by the plan
  double gradientSeconds = 0, optimizerSeconds = 0; // after the loop, by the plan
};
// Simulates the step of a plan. Errors: those of the simulator.
Result<SimulatedStep> compareWithSimulation(const Plan &plan);

} // namespace dtc
