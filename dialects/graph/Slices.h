// Which ops of a function a result of it depends on.
#pragma once

#include "dialects/graph/Graph.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace dtc::graph {

using OpSet = llvm::SmallPtrSet<mlir::Operation *, 32>;

// The ops that make `values`, and all that these depend on.
OpSet getProducers(mlir::ValueRange values);

// The results of `function` whose string attribute `attr` is `name`; of any name where that is empty.
// Example: of @update, kOutputAttr and "loss" give the loss that the step reports.
llvm::SmallVector<mlir::Value> getResultsWith(FuncOp function, llvm::StringRef attr,
                                              llvm::StringRef name = "");

} // namespace dtc::graph
