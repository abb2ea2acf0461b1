// The state of a model that its ops observe (graph.observe).
#pragma once

#include "dialects/graph/Graph.h"

#include "llvm/ADT/StringSet.h"

namespace dtc {

// Returns the values by which a function reads the states that it, or a block that it calls,
// observes: results of graph.get, or arguments of a block.
llvm::SmallVector<mlir::Value> observedValues(graph::FuncOp func);

// Returns the names of the parameters that '@loss' observes. Fails after a diagnostic at what is no
// frozen parameter in f32, or observed twice.
llvm::FailureOr<llvm::StringSet<>> observedParameters(mlir::ModuleOp module);

// Replaces graph.observe and graph.detach by their operands: once gradients are built, they mean
// nothing.
void dropObservations(mlir::ModuleOp module);

} // namespace dtc
