// The phases of compilation, in order; each function adds one phase's passes.
#pragma once

#include "mlir/Pass/PassManager.h"

#include <cstdint>
#include <string>

namespace dtc {

struct ScheduleOptions;

// Loads the dialects that every command works with.
void loadDialects(mlir::MLIRContext &context);

// What the step is made of, beyond the plan.
struct StepOptions {
  int64_t batch = 1; // samples of one micro-batch over all ranks
  int64_t microBatches = 1;
  // Element type that parameters and activations are kept in, "f32", "bf16" or "f16", and in which
  // gradients are reduced, "f32" or "bf16".
  std::string precision = "f32", gradDtype = "f32";
  std::string optimizer = "adamw";
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weightDecay = 0.1, clipNorm = 1;
  bool cosine = true;
  int64_t warmupSteps = 0;
  double minLrRatio = 0.1;
  double trustCoefficient = 0.001; // of lars
  bool coupledDecay = false;       // of sgd: weight decay is added to the gradient
  bool offload = false;            // optimizer state and its update in the host's memory
};

// Model -> one-device training step: '@microbatch' and '@update' with a static batch.
void addGraphPhase(mlir::OpPassManager &passes, const StepOptions &options);
// Only the batch, for a planner that places parameters on the forward model first.
void addBindBatch(mlir::OpPassManager &passes, const StepOptions &options);

// One-device step with mesh and placements -> the step of every rank, still in blocks.
void addShardPhase(mlir::OpPassManager &passes);

// Blocks inlined, fusion groups outlined into kernel functions, then one exec.program with a static
// memory plan.
void addSchedulePhase(mlir::OpPassManager &passes);
void addSchedulePhase(mlir::OpPassManager &passes, const ScheduleOptions &options);
// The same for a module with one for each stage of a pipeline (graph.stage): it gets the programs of
// all of them.
void addStagesPhase(mlir::OpPassManager &passes, const ScheduleOptions &options);

} // namespace dtc
