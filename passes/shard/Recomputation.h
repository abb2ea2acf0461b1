// What of a block's forward pass recomputation runs again: the cost model counts it, dtc-recompute
// does it.
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/Recompute.h"

#include "llvm/ADT/SetVector.h"

namespace dtc {

struct Recomputation {
  llvm::SetVector<mlir::Value> dropped;     // of what was kept
  llvm::SetVector<mlir::Operation *> again; // what makes it, in an order in which it can run
};

// What can be had again with ops that `recompute` runs again is not kept. `kept` are values that the backward pass
// reads of ops for which `isInside`, no views (graph::rootOf); what the others make, and arguments, are there anyway.
// Example: of y = linear(gelu(linear(norm(x)))) selective recomputation keeps the result of the first product alone;
// norm and gelu, which its readers want, run again. With products that are linear nothing is kept.
Recomputation selectRecomputation(const llvm::SetVector<mlir::Value> &kept, Recompute recompute,
                                  llvm::function_ref<bool(mlir::Operation *)> isInside);

} // namespace dtc
