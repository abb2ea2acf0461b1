// The role of each value in the step, which its collectives carry.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseSet.h"

namespace dtc {

// Roles of values:
// - Parameter: followed from the reads of '@microbatch' into the blocks, and through views
//   (reshape, transpose).
// - Gradient: followed from the results of '@microbatch' back into the blocks, through sums.
// - Expert: values with a loop over the capacity of experts.
// - Control: single numbers (the loss, a norm), and values of '@update' that are neither gradients
//   nor parameters.
// - Activation: all others.
class ValueRoles {
public:
  explicit ValueRoles(mlir::ModuleOp step);

  // Returns the role of a value.
  graph::CollectiveRole of(mlir::Value value) const;

private:
  void followParameters(mlir::ModuleOp step);
  void followGradients(mlir::ModuleOp step);
  void followUpdate(mlir::ModuleOp step);

  llvm::DenseSet<mlir::Value> parameters, gradients;
  llvm::DenseSet<mlir::Operation *> ofUpdate; // '@update' and its blocks
};

} // namespace dtc
