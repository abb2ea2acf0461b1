// Which ops of a step make up which task.
#pragma once

#include "passes/schedule/Addends.h"

#include <string>
#include <vector>

namespace dtc {

struct StepTask {
  std::string name;
  std::vector<mlir::Operation *> ops; // in program order
};

// The tasks of a training step, in the order in which a micro-batch, and then the step, goes through
// them.
//
// Of a micro-batch: `forward` is what the loss and other sums that are no gradients depend on,
// `backward` the rest; with `splitBackward` what makes addends of gradients and nothing else, such
// as the products for weights, is `weight_gradients`, which nothing waits for but the update. Where
// @microbatch has no loss, all of it is one task, `micro_batch`.
//
// Of the step: `loss` is what the reported loss depends on, so that evaluation can do without the
// rest, `update`.
struct StepTasks {
  std::vector<StepTask> ofMicroBatch, ofStep;
  bool hasLoss = false; // a task for the loss alone

  StepTasks(graph::FuncOp microBatch, graph::FuncOp update, const Addends &addends,
            bool splitBackward);
};

} // namespace dtc
