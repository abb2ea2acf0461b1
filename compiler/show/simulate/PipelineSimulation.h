// One training step of a pipeline as a simulation, with its time line.
#pragma once

#include "compiler/search/pipeline/Schedule.h"
#include "compiler/search/pipeline/Timing.h"
#include "compiler/show/simulate/Trace.h"

namespace dtc {

// The work of a stage after its last backward, in seconds.
struct StepTail {
  double synchronise = 0; // reduction of gradients between replicas, as far as it is exposed
  double optimizer = 0;   // and what gathers the new parameters
};

// The parts of a step that a pipeline problem does not have. Each list is empty or has one entry
// per stage.
struct StepSettings {
  std::vector<std::string> stageNames; // "stage 0 (ranks 0-7)"; "stage 0" where empty
  std::vector<StepTail> tails;
  std::vector<int64_t> residentBytes; // parameters and all else that stays: the memory track's base
  double computeSlowdown = 1;         // factor of compute times while a stage transfers
};

// A simulated step of a pipeline.
struct StepSimulation {
  PipelineProblem problem;
  PipelineSchedule schedule;
  PipelineTiming timing; // times by the orders alone: without tails and slowdown
  Simulation simulation; // device i is stage i; its stream 0 computes
  SimResult result;
  std::vector<TraceCounter> memory; // per stage, bytes
  double bubbleFraction = 0;        // idle share of the stages' compute streams
};

// Builds the schedule, simulates the step and follows its memory. Transfers are of fixed seconds,
// one stream for each neighbour and direction. With no tails and no slowdown the times are those of
// timeSchedule. Errors: those of buildSchedule; settings of the wrong length.
Result<StepSimulation> simulateStep(const PipelineProblem &problem,
                                    const StepSettings &settings = {});

// The time line of the step, as writeTrace.
void writeStepTrace(llvm::raw_ostream &out, const StepSimulation &step);

} // namespace dtc
