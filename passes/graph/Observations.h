// The state of a model that its ops observe (graph.observe).
#pragma once

#include "dialects/graph/Graph.h"

#include "llvm/ADT/StringSet.h"

namespace dtc {

// The value by which a function reads a parameter, a result of graph.get or an argument of a block,
// and the op that it, or a block that it calls, uses its elements in, moved or as they are.
struct ParameterUse {
  mlir::Value value;
  mlir::Operation *user;
};

// The uses of a parameter: of the parameter itself, or of its elements also where ops move them
// about before (transpose, slice, broadcast).
enum class UseKind { Exact, Moved };

// Returns the uses by the operands that `choose` returns for each op of a function and of the
// blocks that it calls.
llvm::SmallVector<ParameterUse>
usesOf(graph::FuncOp func,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Operation &)> choose, UseKind kind);

// Returns the names of the parameters that stay in f32 in every precision: those of ops with
// kWideAttr, the biases of routers, and those that are indices: cast to whole numbers, or
// used as they are.
llvm::StringSet<> wideParameters(mlir::ModuleOp module);

// Returns the names of the parameters that '@loss' observes. Fails after a diagnostic at what is no
// frozen parameter in f32, or observed twice.
llvm::FailureOr<llvm::StringSet<>> observedParameters(mlir::ModuleOp module);

// Notes on each parameter that '@loss' observes how the update moves it: by a rate (kRateAttr), or
// by one of equal values that all micro-batches add up (kCopiesAttr).
void noteUpdates(mlir::ModuleOp module);

// Replaces graph.observe and graph.detach by their operands: once gradients are built, they mean
// nothing.
void dropObservations(mlir::ModuleOp module);

} // namespace dtc
