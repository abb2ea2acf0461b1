// Decomposes ops that finish sums or maxima within themselves (DecomposeOpInterface) if a split
// cuts a loop of such a sum.
#pragma once

#include "passes/shard/OpSplit.h"

namespace dtc {

// True if `split` cuts a loop whose sums the op finishes within itself.
bool cutsStagedLoop(const graph::OpRule &rule, llvm::ArrayRef<int> split);

// The ops that replace such an op.
struct Stages {
  llvm::SmallVector<mlir::Operation *> ops; // in order
  llvm::SmallVector<OpSplit> splits;        // one per op
  // The placements of the op's operands and of all results of the stages.
  llvm::DenseMap<mlir::Value, Placement> placements;
  llvm::SmallVector<mlir::Value> results; // one per result of the op
};

// Builds the stages of `op`, which has the interface, before it, under a split that cuts a staged
// loop. Each stage is split by the placements of its operands; partitioning finishes sums over
// ranks before an op reads them as a whole.
Stages buildStages(mlir::Operation *op, const graph::OpRule &rule, llvm::ArrayRef<int> split,
                   const Mesh &mesh);

// Replaces every op of the step whose kSplitsAttr cuts a staged loop by its stages. All others stay
// as they are: data parallelism alone splits no row. Fails after a diagnostic if an attribute is
// not what the op's rule allows.
mlir::LogicalResult takeApart(mlir::ModuleOp step, const Mesh &mesh);

} // namespace dtc
