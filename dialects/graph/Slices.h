// The ops of a function that a result depends on.
#pragma once

#include "dialects/graph/Graph.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace dtc::graph {

using OpSet = llvm::SmallPtrSet<mlir::Operation *, 32>;

// Returns the ops that make `values`, and all ops that these depend on.
OpSet getProducers(mlir::ValueRange values);

// Returns the results of `function` whose string attribute `attr` is `name`, or has any value if
// `name` is empty. Example: for @update, kOutputAttr and "loss" give the loss that the step
// reports.
llvm::SmallVector<mlir::Value> getResultsWith(FuncOp function, llvm::StringRef attr,
                                              llvm::StringRef name = "");

// Returns the values of '@microbatch' that the forward pass computes, with all that they depend on:
// sums other than gradients, such as the loss, and results of ops with kLossChunkAttr.
llvm::SmallVector<mlir::Value> getForwardEnds(FuncOp microbatch);

} // namespace dtc::graph
