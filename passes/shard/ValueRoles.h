// What the values of a step are to it: what their collectives carry as their role.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseSet.h"

namespace dtc {

// Parameters are followed from where '@microbatch' reads them into the blocks, and through views
// (reshape, transpose); gradients of parameters from what it returns back into the blocks, through
// sums. Single numbers (the loss, a norm) are control, what has a loop over places of experts is
// theirs, all of '@update' but gradients and parameters is control, everything else an activation.
class ValueRoles {
public:
  explicit ValueRoles(mlir::ModuleOp step);

  graph::CollectiveRole of(mlir::Value value) const;

private:
  void followParameters(mlir::ModuleOp step);
  void followGradients(mlir::ModuleOp step);
  void followUpdate(mlir::ModuleOp step);

  llvm::DenseSet<mlir::Value> parameters, gradients;
  llvm::DenseSet<mlir::Operation *> ofUpdate; // '@update' and its blocks
};

} // namespace dtc
