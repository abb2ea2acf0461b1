// Finds the ops around tensors that have many numbers for each token, such as logits.
#pragma once

#include "dialects/graph/Graph.h"

#include "llvm/ADT/SetVector.h"

namespace dtc {

// The ops that make or read a tensor of the same tokens as a wide one and more than one number for
// each, from the matrix products that make them to those that make narrow ones of them, and the ops
// between these, in the order of their block. Example: of logits, the output layer, the loss and
// all three products of their gradients.
struct WideOps {
  explicit WideOps(mlir::Value wide);

  llvm::SetVector<mlir::Value> tensors; // the wide ones
  llvm::SmallVector<mlir::Operation *> ops;
};

} // namespace dtc
