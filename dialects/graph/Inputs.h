// The inputs of a model: what a run reads from its data files every step.
#pragma once

#include "dialects/graph/Attributes.h"
#include "dialects/graph/Graph.h"

namespace dtc::graph {

// Of the module, once its batch is bound: samples of a micro-batch over all ranks, i64.
constexpr llvm::StringLiteral kSamplesAttr = "graph.samples";

// The name of the input that argument `argument` is; empty where it is none.
llvm::StringRef getInputName(FuncOp func, unsigned argument);

// Fails where `attribute` of an argument is `graph.input` and no name of an input of its own, or
// the argument has a type that none can have.
llvm::LogicalResult checkInputName(mlir::Operation *op, unsigned argument,
                                   mlir::NamedAttribute attribute);

// Fails unless '@loss' has a name for each argument, one at least, and returns one tensor<f32>.
llvm::LogicalResult checkLossSignature(FuncOp loss);

} // namespace dtc::graph
