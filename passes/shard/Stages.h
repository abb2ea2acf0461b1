// Ops that finish sums or maxima within themselves (DecomposeOpInterface), where a loop of such a
// sum is really split.
#pragma once

#include "passes/shard/OpSplit.h"

namespace dtc {

// Whether `split` cuts a loop whose sums the op finishes within itself.
bool cutsStagedLoop(const graph::OpRule &rule, llvm::ArrayRef<int> split);

// What such an op becomes.
struct Stages {
  llvm::SmallVector<mlir::Operation *> ops; // in order
  llvm::SmallVector<OpSplit> splits;        // of each of them
  // Of what the op reads and of all that its stages make.
  llvm::DenseMap<mlir::Value, Placement> placements;
  llvm::SmallVector<mlir::Value> results; // one per result of the op
};

// Builds the stages of `op`, which has the interface, before it, under a split that cuts a staged
// loop. Each stage is split where its operands are; what is a sum over ranks there and is read as a
// whole gets finished by partitioning, as anywhere else.
Stages buildStages(mlir::Operation *op, const graph::OpRule &rule, llvm::ArrayRef<int> split,
                   const Mesh &mesh);

// Replaces every op of the step whose kSplitsAttr cuts a staged loop by its stages. All others stay
// as they are: under data parallelism alone no row is split. Emits a diagnostic where an attribute
// is not what the op's rule allows.
mlir::LogicalResult takeApart(mlir::ModuleOp step, const Mesh &mesh);

} // namespace dtc
