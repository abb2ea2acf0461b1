// The pass pipelines of the compilation phases, in order; each function adds the passes of one
// phase.
#pragma once

#include "dialects/graph/Compression.h"
#include "dialects/graph/GradientType.h"
#include "dialects/graph/Precision.h"
#include "dialects/graph/StateType.h"

#include "mlir/Pass/PassManager.h"

#include <cstdint>

namespace dtc {

struct ScheduleOptions;

// Loads the dialects that every command needs into `context`.
void loadDialects(mlir::MLIRContext &context);

// The settings of the training step that are not part of the plan.
struct StepOptions {
  int64_t batch = 1; // samples of one micro-batch over all ranks
  int64_t microBatches = 1;
  int64_t ranks = 1;                          // of data parallelism, which share a micro-batch
  Precision precision = Precision::F32;       // in which the model is trained
  GradientType gradDtype = GradientType::F32; // in which gradients are reduced; one that is offered
  Optimizer optimizer = OptimizerKind::AdamW;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weightDecay = 0.1, clipNorm = 1;
  bool cosine = true;
  int64_t warmupSteps = 0;
  double minLrRatio = 0.1;
  double trustCoefficient = 0.001; // read by lars
  bool coupledDecay = false;       // adds the weight decay to the gradient; read by sgd
  double muonMomentum = 0.95;      // momentum of matrices; read by muon, as is the next
  MatrixRate matrixRate = MatrixRate::MatchRmsAdamW;
  Compression compress; // the method of sums of gradients over ranks
  bool offload = false; // keeps the optimizer state in host memory and updates it there

  bool operator==(const StepOptions &) const = default;
};

// Turns a model into a one-device training step: '@microbatch' and '@update' with a static batch.
void addGraphPhase(mlir::OpPassManager &passes, const StepOptions &options);
// Binds only the batch, for a planner that first places the parameters of the forward model.
void addBindBatch(mlir::OpPassManager &passes, const StepOptions &options);

// Turns a one-device step with mesh and placements into the step that every rank runs, still in
// blocks.
void addShardPhase(mlir::OpPassManager &passes);

// Inlines blocks, outlines fusion groups into kernel functions and builds one exec.program with a
// static memory plan. Uses default options.
void addSchedulePhase(mlir::OpPassManager &passes);
// The schedule phase with the given options; see above.
void addSchedulePhase(mlir::OpPassManager &passes, const ScheduleOptions &options);
// The schedule phase for a pipeline: runs it on the module of each stage (graph.stage), then merges
// them into one module with the programs of all stages.
void addStagesPhase(mlir::OpPassManager &passes, const ScheduleOptions &options);

} // namespace dtc
