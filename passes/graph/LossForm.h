// What kind of number a loss is: how those of micro-batches make up that of a step.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc {

enum class LossForm {
  Mean,         // of the samples: a step's is the mean of its micro-batches'
  Sum,          // over the samples: a step's is their sum
  WeightedMean, // graph.weighted_mean: both its sums are over the step
  Beside,       // the same beside means, by linear ops: its weights are added up before the step
};

// Reads the form of `loss`, the model's function with a dynamic batch. A loss has one where it is
// made of means or sums over the batch by linear ops. Fails with a diagnostic at the op that makes
// another number of the same samples when they are cut into micro-batches in another way, such as
// the root of a mean over the batch, or a mean over the batch that single samples use.
llvm::FailureOr<LossForm> findLossForm(graph::FuncOp loss);

} // namespace dtc
