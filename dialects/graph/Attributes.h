// Names that passes meet each other by: the dialect's discardable attributes, its functions and the
// mesh. Attributes.cpp checks where each attribute stands and what it holds.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Of the module.
constexpr llvm::StringLiteral kVocabularyAttr = "graph.vocabulary";          // words, i64
constexpr llvm::StringLiteral kSequenceLengthAttr = "graph.sequence_length"; // tokens, i64
constexpr llvm::StringLiteral kMicroBatchesAttr = "graph.micro_batches";     // of a step, i64
constexpr llvm::StringLiteral kZeroAttr = "graph.zero"; // ZeRO stage, i64: places optimizer state
constexpr llvm::StringLiteral kSequenceParallelAttr = "graph.sequence_parallel"; // unit

// Of `shard.grid @mesh`: an array of strings, a name for each axis.
constexpr llvm::StringLiteral kAxisNamesAttr = "graph.axis_names";
// Of the same: the name of an AxisRole for each axis. Passes ask for an axis by what it is for; its
// name is for people.
constexpr llvm::StringLiteral kAxisRolesAttr = "graph.axis_roles";

// Of arguments and results of graph.func.
constexpr llvm::StringLiteral kInputAttr = "graph.input";            // argument: name of the data
constexpr llvm::StringLiteral kOutputAttr = "graph.output";          // result: what to report it as
constexpr llvm::StringLiteral kGradientOfAttr = "graph.gradient_of"; // @parameter
// Name of a sum over micro-batches that is no gradient.
constexpr llvm::StringLiteral kAccumulatedAttr = "graph.accumulated";
constexpr llvm::StringLiteral kPlacementAttr = "graph.placement"; // #graph.placement

// Of a result of a block's forward function that only its backward function reads: unit.
constexpr llvm::StringLiteral kSavedAttr = "graph.saved";

// Of an op with a rule: the loop that each mesh axis splits, array<i64>; -1 none, -2 none while its
// operands and results are sums that are not finished yet.
constexpr llvm::StringLiteral kSplitsAttr = "graph.splits";
// Of a collective of the `shard` dialect: #graph.communication, what it moves and whether compute
// may go on beside it.
constexpr llvm::StringLiteral kCommunicationAttr = "graph.communication";

// Functions: the model; what runs once a micro-batch; what runs once a step.
constexpr llvm::StringLiteral kLossFunction = "loss";
constexpr llvm::StringLiteral kMicrobatchFunction = "microbatch";
constexpr llvm::StringLiteral kUpdateFunction = "update";
// The op shard.grid of this name is the mesh.
constexpr llvm::StringLiteral kMeshName = "mesh";

} // namespace dtc::graph
