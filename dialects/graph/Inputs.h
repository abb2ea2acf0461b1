// The inputs of a model: the tensors that a run reads from its data files in every step.
#pragma once

#include "dialects/graph/Attributes.h"
#include "dialects/graph/Graph.h"

namespace dtc::graph {

// Attribute of the module once its batch is bound: samples of a micro-batch over all ranks, i64.
constexpr llvm::StringLiteral kSamplesAttr = "graph.samples";

// Returns the name of the input that argument `argument` is; empty if it is none.
llvm::StringRef getInputName(FuncOp func, unsigned argument);

// Fails if `attribute` of an argument is `graph.input` and is not a unique name of an input, or if
// the argument has a type that no input can have.
llvm::LogicalResult checkInputName(mlir::Operation *op, unsigned argument,
                                   mlir::NamedAttribute attribute);

// Fails unless '@loss' has a name for each argument, at least one, and returns one tensor<f32>.
llvm::LogicalResult checkLossSignature(FuncOp loss);

} // namespace dtc::graph
