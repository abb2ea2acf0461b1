// The phases of compilation, in order.
#include "passes/Pipelines.h"

#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "passes/codegen/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/shard/Passes.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace dtc {

void loadDialects(MLIRContext &context) {
  context.loadDialect<exec::ExecDialect, graph::GraphDialect, shard::ShardDialect>();
  context.printOpOnDiagnostic(false); // users are told the place, not our form of the op
}

void addBindBatch(OpPassManager &passes, const StepOptions &options) {
  // Every shape is static from here on, and means are sums with a constant scale.
  BindBatchOptions bind;
  bind.batch = options.batch;
  bind.microBatches = options.microBatches;
  passes.addPass(createBindBatch(bind));
}

void addGraphPhase(OpPassManager &passes, const StepOptions &options) {
  addBindBatch(passes, options);
  // Every tensor has the element type that it is kept in.
  SetPrecisionOptions precision;
  precision.precision = options.precision;
  passes.addPass(createSetPrecision(precision));
  // '@loss' is gone; '@microbatch' returns the loss and a gradient for every parameter.
  DifferentiateOptions differentiate;
  differentiate.microBatches = options.microBatches;
  passes.addPass(createDifferentiate(differentiate));
  // Gradients of parameters are in f32.
  passes.addPass(createWidenGradients());
  // '@update' replaces every parameter and state.
  AddOptimizerOptions optimizer;
  optimizer.optimizer = options.optimizer;
  optimizer.beta1 = options.beta1;
  optimizer.beta2 = options.beta2;
  optimizer.epsilon = options.epsilon;
  optimizer.weightDecay = options.weightDecay;
  optimizer.gradDtype = options.gradDtype;
  optimizer.clipNorm = options.clipNorm;
  optimizer.cosine = options.cosine;
  optimizer.warmupSteps = options.warmupSteps;
  optimizer.minRatio = options.minLrRatio;
  optimizer.trustCoefficient = options.trustCoefficient;
  optimizer.offload = options.offload;
  optimizer.coupledDecay = options.coupledDecay;
  passes.addPass(createAddOptimizer(optimizer));
  // No op computes what another has, or what nobody reads.
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

void addShardPhase(OpPassManager &passes) {
  // Every op works on local shapes; collectives stand wherever a value is not where it is needed.
  passes.addPass(createPartition());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  // Layers keep for the backward pass what the plan says, and no more.
  passes.addPass(createRecompute());
  // With a pipeline, a module for each stage.
  passes.addPass(createCutStages());
}

void addSchedulePhase(OpPassManager &passes) { addSchedulePhase(passes, ScheduleOptions()); }

void addSchedulePhase(OpPassManager &passes, const ScheduleOptions &options) {
  // The only calls left are those of kernels; what is inlined is made canonical once, below.
  passes.addPass(createInlineBlocks());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  // What reads state in the host's memory runs there.
  passes.addPass(createOffloadUpdate());
  // On GPUs no long sum is a few blocks'.
  if (options.onGpu)
    passes.addPass(createSplitSums());
  passes.addPass(createFormKernels());
  // One exec.program: every buffer has an offset, every instruction a stream.
  buildSchedulePipeline(passes, options);
}

void addStagesPhase(OpPassManager &passes, const ScheduleOptions &options) {
  // Each stage's module has its program and kernels.
  addSchedulePhase(passes.nest<ModuleOp>(), options);
  // The module has a program for each stage, and each kernel once.
  passes.addPass(createMergeStages());
}

} // namespace dtc
