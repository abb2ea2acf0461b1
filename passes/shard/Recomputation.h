// The ops of a block's forward pass that backward recomputes: the cost model counts them,
// dtc-recompute emits them.
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/Recompute.h"

#include "llvm/ADT/SetVector.h"

namespace dtc {

// The saved activations that are dropped and the ops that recompute them.
struct Recomputation {
  llvm::SetVector<mlir::Value> dropped; // formerly saved values
  // the ops that make them, in an order in which they can run
  llvm::SetVector<mlir::Operation *> again;
};

// Selects the saved activations that ops which `recompute` allows can compute again. `kept` are the
// values made by ops for which `isInside` holds that the backward pass reads, without views
// (graph::rootOf); values of other ops, and arguments, are available anyway. Example: for y =
// linear(gelu(linear(norm(x)))) selective recomputation saves only the result of the first matrix
// product; norm and gelu are recomputed. With selective+linear nothing is saved.
Recomputation selectRecomputation(const llvm::SetVector<mlir::Value> &kept, Recompute recompute,
                                  llvm::function_ref<bool(mlir::Operation *)> isInside);

// Selects the saved activations of rounds of rows of experts behind the first (graph.round_rows),
// which are computed again whatever a plan recomputes, so that one round is in memory at a time.
Recomputation selectLaterRounds(const llvm::SetVector<mlir::Value> &kept,
                                llvm::function_ref<bool(mlir::Operation *)> isInside);

// Returns true if a block has rounds behind the first.
bool hasLaterRounds(graph::FuncOp func);

} // namespace dtc
