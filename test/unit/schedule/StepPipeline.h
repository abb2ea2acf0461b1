// Lowers a model to its scheduled step, for tests that run or inspect whole programs.
#pragma once

#include "compiler/search/planner/Passes.h"
#include "passes/codegen/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/shard/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace dtc::test {

// How a step is split over ranks and micro-batches.
struct StepPlan {
  int64_t dp = 1, tp = 1;
  bool sequenceParallel = false;
  int64_t zero = 0, microBatches = 1;
};

// Lowers `module` under `plan`, with a global norm clipped at 1. `batch` is that of a micro-batch
// over all ranks. Returns false after a diagnostic.
inline bool scheduleModel(mlir::ModuleOp module, const StepPlan &plan, int64_t batch,
                          const ScheduleOptions &options) {
  mlir::PassManager passes(module.getContext());
  BindBatchOptions bind;
  bind.batch = batch;
  passes.addPass(createBindBatch(bind));
  SetMeshOptions mesh;
  mesh.dp = plan.dp;
  mesh.tp = plan.tp;
  mesh.sequenceParallel = plan.sequenceParallel;
  mesh.zero = plan.zero;
  passes.addPass(createSetMesh(mesh));
  DifferentiateOptions differentiate;
  differentiate.microBatches = plan.microBatches;
  passes.addPass(createDifferentiate(differentiate));
  AddOptimizerOptions optimizer;
  optimizer.clipNorm = 1;
  passes.addPass(createAddOptimizer(optimizer));
  passes.addPass(createPlace());
  passes.addPass(createPartition());
  passes.addPass(createInlineBlocks());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createFormKernels());
  buildSchedulePipeline(passes, options);
  return succeeded(passes.run(module));
}

} // namespace dtc::test
