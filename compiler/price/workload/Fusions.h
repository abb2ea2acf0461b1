// Finds ops of the graph that hand-written kernels of some stacks fuse. Internal to this folder.
#pragma once

#include "compiler/price/workload/Cells.h"

#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace dtc {

// Marks, among `ops` of one pass of a block, whose ops in `cell` are at `indices`:
// - products of one input, as of queries, keys and values, or of a gate and what it gates; those of
//   their weights' gradients; and those whose results are added up to the gradient of that input
//   (CellOp::joinsAt);
// - those additions (CellOp::addsJoined);
// - what a gate and a normalisation's gradients need not move where they are fused
//   (CellOp::fusion). `bytesOf`: of a value, as of the cell's ops.
void markFusions(BlockCell &cell, llvm::ArrayRef<mlir::Operation *> ops,
                 const llvm::DenseMap<mlir::Operation *, int> &indices,
                 llvm::function_ref<Amount(mlir::Value)> bytesOf);

// Makes one product of those that markFusions found to belong together: the first of each does what
// all do, with what they share moved once. The others, and additions of their results, stay as ops
// that take nothing, so that no index changes.
void joinProducts(BlockCell &cell);

} // namespace dtc
