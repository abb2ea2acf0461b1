// The form of a loss: how the losses of micro-batches combine to that of a step.
#pragma once

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Graph.h"

namespace dtc {

// The ways in which the losses of micro-batches combine.
enum class LossForm {
  Mean,         // over the samples: the step's loss is the mean over its micro-batches
  Sum,          // over the samples: the step's loss is the sum over its micro-batches
  WeightedMean, // graph.weighted_mean: both of its sums are over the step
  // weighted means plus plain means, by linear ops: the weights are added up before the step
  Beside,
};

// Reads the form of `loss`, the model's function with a dynamic batch. A loss has a form if it is
// made of means or sums over the batch by linear ops. Fails with a diagnostic at the op whose
// result depends on how the samples are cut into micro-batches, such as the root of a mean over the
// batch, or a mean over the batch that single samples use.
llvm::FailureOr<LossForm> findLossForm(graph::FuncOp loss);

// Returns a product of two means over the samples that are a reduction's results, or null. It is a
// term of a loss only if a step has one micro-batch: the means of parts have other products. Call
// it before the batch is bound.
graph::MultiplyOp findProductOfMeans(graph::FuncOp loss);

} // namespace dtc
