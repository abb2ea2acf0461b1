// Names that passes meet each other by: the dialect's discardable attributes, its functions and the
// mesh. Attributes.cpp checks where each attribute stands and what it holds.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Of the module.
// Dim 1 of the inputs that are sequences, i64; a model without sequences has none.
constexpr llvm::StringLiteral kSequenceLengthAttr = "graph.sequence_length";
constexpr llvm::StringLiteral kMicroBatchesAttr = "graph.micro_batches"; // of a step, i64
constexpr llvm::StringLiteral kZeroAttr = "graph.zero"; // ZeRO stage, i64: places optimizer state
constexpr llvm::StringLiteral kSequenceParallelAttr = "graph.sequence_parallel"; // unit
// The stage of a pipeline that holds each chunk of the model, array<i64>; none without a pipeline.
constexpr llvm::StringLiteral kStageOfChunkAttr = "graph.stage_of_chunk";
// Of the module of one stage: which one, i64.
constexpr llvm::StringLiteral kStageAttr = "graph.stage";

// Of `shard.grid @mesh`: an array of strings, a name for each axis.
constexpr llvm::StringLiteral kAxisNamesAttr = "graph.axis_names";
// Of the same: the name of an AxisRole for each axis. Passes ask for an axis by what it is for; its
// name is for people.
constexpr llvm::StringLiteral kAxisRolesAttr = "graph.axis_roles";

// Of arguments and results of graph.func.
constexpr llvm::StringLiteral kInputAttr = "graph.input"; // argument: name of the data
// Argument: where it is an index, what it is below, and the one that is ignored besides (i64).
constexpr llvm::StringLiteral kBelowAttr = "graph.below";
constexpr llvm::StringLiteral kIgnoredAttr = "graph.ignored";
constexpr llvm::StringLiteral kOutputAttr = "graph.output";          // result: what to report it as
constexpr llvm::StringLiteral kGradientOfAttr = "graph.gradient_of"; // @parameter
// Name of a sum over micro-batches that is no gradient: the loss, and of a weighted mean what to
// divide it by.
constexpr llvm::StringLiteral kAccumulatedAttr = "graph.accumulated";
constexpr llvm::StringLiteral kLossSum = "loss", kWeightSum = "weight";
// Of the result of '@microbatch' that is the sum of the weights of a weighted mean: the rows that the
// mean of a step is over (i64), those of weight 0 too.
constexpr llvm::StringLiteral kRowsAttr = "graph.rows";
constexpr llvm::StringLiteral kPlacementAttr = "graph.placement"; // #graph.placement

// Of a result of a block's forward function that only its backward function reads: unit.
constexpr llvm::StringLiteral kSavedAttr = "graph.saved";

// Of '@loss' (unit): it is a sum over the samples, so that those of micro-batches add up to that of
// a step; else it is a mean.
constexpr llvm::StringLiteral kAddsUpAttr = "graph.adds_up";

// Of an op with a rule: the loop that each mesh axis splits, array<i64>; -1 none, -2 none while its
// operands and results are sums that are not finished yet.
constexpr llvm::StringLiteral kSplitsAttr = "graph.splits";
// Of a collective of the `shard` dialect: #graph.communication, what it moves and whether compute
// may go on beside it.
constexpr llvm::StringLiteral kCommunicationAttr = "graph.communication";

// Of an op of the step: the chunk of the model, in model order, that it is part of (i64), and
// whether it is "forward" or "backward". Of parameters: the chunk that reads them.
constexpr llvm::StringLiteral kChunkAttr = "graph.chunk";
constexpr llvm::StringLiteral kPhaseAttr = "graph.phase";
// Of graph.repeat and graph.call: what backward runs again of its block, a name of Recompute;
// nothing where there is none.
constexpr llvm::StringLiteral kRecomputeAttr = "graph.recompute";

// Functions: the model; what runs once a micro-batch; what runs once a step.
constexpr llvm::StringLiteral kLossFunction = "loss";
constexpr llvm::StringLiteral kMicrobatchFunction = "microbatch";
constexpr llvm::StringLiteral kUpdateFunction = "update";
// State of the step itself, where it is there: how many steps were skipped, as their gradients were
// not finite; the loss scale, and for how many applied steps it has stood.
constexpr llvm::StringLiteral kSkippedState = "step.skipped";
constexpr llvm::StringLiteral kLossScaleState = "step.loss_scale";
constexpr llvm::StringLiteral kGoodStepsState = "step.good_steps";
// Of the module: "bf16" where gradients are reduced in it; without it they are in f32.
constexpr llvm::StringLiteral kGradDtypeAttr = "graph.grad_dtype";
// The op shard.grid of this name is the mesh.
constexpr llvm::StringLiteral kMeshName = "mesh";

} // namespace dtc::graph
