// Which ops of a step make up which task.
#pragma once

#include "passes/schedule/Addends.h"
#include "passes/schedule/FinalGradients.h"
#include "passes/schedule/StageOrder.h"

#include <string>
#include <vector>

namespace dtc {

struct StepTask {
  std::string name;
  std::vector<mlir::Operation *> ops; // in program order
  // In a pipeline: the run of which chunk it is part of.
  StageOrder::Kind kind = StageOrder::Forward;
  int64_t chunk = -1;
};

// The tasks of a training step, in the order in which a micro-batch, and then the step, goes through
// them.
//
// Of a micro-batch: `forward` is what the loss and other sums that are no gradients depend on,
// `backward` the rest; with `splitBackward` what makes addends of gradients and nothing else, such
// as the products for weights, is `weight_gradients`, which nothing waits for but the update. Where
// @microbatch has no loss, all of it is one task, `micro_batch`.
//
// In a pipeline's stage the tasks are those of its chunks, in the order of the way that micro-batch 0
// takes: what ops of a phase and chunk say (graph.phase, graph.chunk) is `forward.2`, what they
// receive and send `receive_forward.2` before and `send_forward.2` behind it. Gradients to which
// several chunks add stay in `backward`: it is the order of backward that all of a stage's chunks
// keep.
//
// Of the step: `loss` is what the reported loss depends on, so that evaluation can do without the
// rest; `gradients` what makes the gradients that the update reads (FinalGradients) of the sums, and
// what they are to be scaled by; `update` the rest, which alone changes parameters.
struct StepTasks {
  std::vector<StepTask> ofMicroBatch, ofStep;
  bool hasLoss = false; // a task for the loss alone

  StepTasks(graph::FuncOp microBatch, graph::FuncOp update, const Addends &addends,
            bool splitBackward, const std::optional<StageOrder> &stage = std::nullopt);

private:
  void addPhases(graph::FuncOp microBatch, const Addends &addends, bool splitBackward);
  void addChunks(graph::FuncOp microBatch, const Addends &addends, const StageOrder &stage);
};

} // namespace dtc
