// The state of a model that its ops observe (graph.observe).
#pragma once

#include "dialects/graph/Graph.h"

#include "llvm/ADT/StringSet.h"

namespace dtc {

// The value by which a function reads a parameter, a result of graph.get or an argument of a block,
// and the op that it, or a block that it calls, uses it in.
struct ParameterUse {
  mlir::Value value;
  mlir::Operation *user;
};

// Returns the uses by the operands that `choose` returns for each op of a function and of the
// blocks that it calls.
llvm::SmallVector<ParameterUse>
usesOf(graph::FuncOp func,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Operation &)> choose);

// Returns the names of the parameters that stay in f32 in every precision: those of ops with
// kWideAttr, and the biases of routers.
llvm::StringSet<> wideParameters(mlir::ModuleOp module);

// Returns the names of the parameters that '@loss' observes. Fails after a diagnostic at what is no
// frozen parameter in f32, or observed twice.
llvm::FailureOr<llvm::StringSet<>> observedParameters(mlir::ModuleOp module);

// Notes on each parameter that '@loss' observes with a rate how fast it moves (kRateAttr).
void noteRates(mlir::ModuleOp module);

// Replaces graph.observe and graph.detach by their operands: once gradients are built, they mean
// nothing.
void dropObservations(mlir::ModuleOp module);

} // namespace dtc
