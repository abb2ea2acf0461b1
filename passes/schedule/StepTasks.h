// The division of a step's ops into tasks.
#pragma once

#include "passes/schedule/Addends.h"
#include "passes/schedule/FinalGradients.h"
#include "passes/schedule/StageOrder.h"

#include <string>
#include <vector>

namespace dtc {

// A task and its ops.
struct StepTask {
  std::string name;
  std::vector<mlir::Operation *> ops; // in program order
  // in a pipeline, the chunk and the kind of run that it belongs to
  StageOrder::Kind kind = StageOrder::Forward;
  int64_t chunk = -1;
};

// The tasks of a training step, in the order in which a micro-batch, and then the step, runs them.
//
// The tasks of a micro-batch are `forward`, the ops that the loss and other sums that are no
// gradients depend on, and `backward`, all others. With `splitBackward`, ops that only make addends
// of gradients, such as the matrix products for weights, are in `weight_gradients`, which only the
// update waits for. If @microbatch has no loss, there is one task, `micro_batch`.
//
// In a pipeline stage there are tasks for each of its chunks, in the order in which micro-batch 0
// runs them. Ops labelled with a phase and a chunk (graph.phase, graph.chunk) are in `forward.2`,
// their receives in `receive_forward.2` before it and their sends in `send_forward.2` after it.
// Gradients to which several chunks add stay in `backward`: all chunks of a stage keep the order of
// backward.
//
// The tasks of the step are `loss`, the ops that the reported loss depends on, so that evaluation
// needs no others; `gradients`, the ops that compute the final gradients (FinalGradients) from the
// sums, and their scale; and `update`, all others, which alone change parameters.
struct StepTasks {
  std::vector<StepTask> ofMicroBatch, ofStep;
  bool hasLoss = false; // there is a task for the loss alone

  StepTasks(graph::FuncOp microBatch, graph::FuncOp update, const Addends &addends,
            bool splitBackward, const std::optional<StageOrder> &stage = std::nullopt);

private:
  void addPhases(graph::FuncOp microBatch, const Addends &addends, bool splitBackward);
  void addChunks(graph::FuncOp microBatch, const Addends &addends, const StageOrder &stage);
};

} // namespace dtc
