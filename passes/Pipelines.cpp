// Builds the pass pipelines of the compilation phases, in order.
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
  // diagnostics name the location in the user's model and omit the printed op
  context.printOpOnDiagnostic(false);
}

void addBindBatch(OpPassManager &passes, const StepOptions &options) {
  // Makes every shape static and turns means into sums with a constant scale.
  BindBatchOptions bind;
  bind.batch = options.batch;
  bind.microBatches = options.microBatches;
  bind.ranks = options.ranks;
  passes.addPass(createBindBatch(bind));
}

void addGraphPhase(OpPassManager &passes, const StepOptions &options) {
  addBindBatch(passes, options);
  // Gives every tensor its storage element type.
  SetPrecisionOptions precision;
  precision.precision = nameOf(options.precision);
  passes.addPass(createSetPrecision(precision));
  // Removes '@loss'; '@microbatch' then returns the loss and a gradient for every parameter.
  DifferentiateOptions differentiate;
  differentiate.microBatches = options.microBatches;
  passes.addPass(createDifferentiate(differentiate));
  // Keeps the gradients of parameters in f32.
  passes.addPass(createWidenGradients());
  // Adds '@update', which replaces every parameter and every optimizer state.
  AddOptimizerOptions optimizer;
  optimizer.optimizer = nameOf(options.optimizer.kind);
  optimizer.state = nameOf(options.optimizer.state);
  optimizer.beta1 = options.beta1;
  optimizer.beta2 = options.beta2;
  optimizer.epsilon = options.epsilon;
  optimizer.weightDecay = options.weightDecay;
  optimizer.gradDtype = nameOf(options.gradDtype);
  optimizer.clipNorm = options.clipNorm;
  optimizer.cosine = options.cosine;
  optimizer.warmupSteps = options.warmupSteps;
  optimizer.minRatio = options.minLrRatio;
  optimizer.trustCoefficient = options.trustCoefficient;
  optimizer.muonMomentum = options.muonMomentum;
  optimizer.muonRate = nameOf(options.matrixRate);
  optimizer.compress = textOf(options.compress);
  optimizer.ranks = options.ranks;
  optimizer.offload = options.offload;
  optimizer.coupledDecay = options.coupledDecay;
  passes.addPass(createAddOptimizer(optimizer));
  // Removes repeated computations and results that are never read.
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

void addShardPhase(OpPassManager &passes) {
  // Rewrites every op to local shapes and inserts collectives where an operand is placed
  // differently from its use.
  passes.addPass(createPartition());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  // Restricts each layer to the saved activations that the plan names; the backward pass recomputes
  // the rest.
  passes.addPass(createRecompute());
  // Keeps the logits of one chunk of the tokens at a time, if the plan asks for chunks.
  passes.addPass(createChunkLoss());
  // Makes one module per stage if there is a pipeline.
  passes.addPass(createCutStages());
}

void addSchedulePhase(OpPassManager &passes) { addSchedulePhase(passes, ScheduleOptions()); }

void addSchedulePhase(OpPassManager &passes, const ScheduleOptions &options) {
  // Leaves no calls but those of kernels; the canonicalizer runs once, after inlining.
  passes.addPass(createInlineBlocks());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  // Moves updates whose state is in host memory to the host.
  passes.addPass(createOffloadUpdate());
  // Splits long sums on GPUs so that they use more than a few blocks.
  if (options.onGpu)
    passes.addPass(createSplitSums());
  passes.addPass(createFormKernels());
  // Produces one exec.program in which every buffer has an offset and every instruction a stream.
  buildSchedulePipeline(passes, options);
}

void addStagesPhase(OpPassManager &passes, const ScheduleOptions &options) {
  // Builds the program and the kernels of each stage in its own module.
  addSchedulePhase(passes.nest<ModuleOp>(), options);
  // Merges the stages: the module gets one program per stage and each distinct kernel once.
  passes.addPass(createMergeStages());
}

} // namespace dtc
