// Names that passes share: the dialect's discardable attributes, its functions and the mesh.
// CheckAttributes.cpp checks the holder and the value of each attribute.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Attributes of the module follow. The size of dim 1 of inputs that are sequences, i64; a model
// without sequences has none.
constexpr llvm::StringLiteral kSequenceLengthAttr = "graph.sequence_length";
// micro-batches of a step, i64
constexpr llvm::StringLiteral kMicroBatchesAttr = "graph.micro_batches";
// ZeRO stage, i64; decides the placement of optimizer state
constexpr llvm::StringLiteral kZeroAttr = "graph.zero";
constexpr llvm::StringLiteral kSequenceParallelAttr = "graph.sequence_parallel"; // unit
// The pipeline stage that holds each chunk of the model, array<i64>; absent without a pipeline.
constexpr llvm::StringLiteral kStageOfChunkAttr = "graph.stage_of_chunk";
// Attribute of the module of one stage: its number, i64.
constexpr llvm::StringLiteral kStageAttr = "graph.stage";

// Attribute of `shard.grid @mesh`: an array of strings, a name for each axis.
constexpr llvm::StringLiteral kAxisNamesAttr = "graph.axis_names";
// Attribute of `shard.grid @mesh`: the name of an AxisRole for each axis. Passes select axes by
// role; names are for people.
constexpr llvm::StringLiteral kAxisRolesAttr = "graph.axis_roles";

// Attributes of arguments and results of graph.func.
constexpr llvm::StringLiteral kInputAttr = "graph.input"; // argument: name of the input
// Argument that holds indices: the exclusive limit of the indices, and a further index that is
// ignored (i64).
constexpr llvm::StringLiteral kBelowAttr = "graph.below";
constexpr llvm::StringLiteral kIgnoredAttr = "graph.ignored";
// result: name under which it is reported
constexpr llvm::StringLiteral kOutputAttr = "graph.output";
constexpr llvm::StringLiteral kGradientOfAttr = "graph.gradient_of"; // @parameter
// Name of a sum over micro-batches that is no gradient: the loss, or the divisor of a weighted
// mean.
constexpr llvm::StringLiteral kAccumulatedAttr = "graph.accumulated";
constexpr llvm::StringLiteral kLossSum = "loss", kWeightSum = "weight";
// Attribute of the result of '@microbatch' that is the sum of the weights of a weighted mean: the
// rows of a step that the mean is over (i64), including those of weight 0.
constexpr llvm::StringLiteral kRowsAttr = "graph.rows";
constexpr llvm::StringLiteral kPlacementAttr = "graph.placement"; // #graph.placement

// Unit attribute of a result of a block's forward function that only its backward function reads.
constexpr llvm::StringLiteral kSavedAttr = "graph.saved";

// Unit attribute of '@loss': it is a sum over the samples, so that the losses of micro-batches add
// up to that of a step; without it the loss is a mean.
constexpr llvm::StringLiteral kAddsUpAttr = "graph.adds_up";

// Attribute of an op with a rule: the loop that each mesh axis splits, array<i64>; -1 for none, -2
// if operands and results are partial sums along the axis.
constexpr llvm::StringLiteral kSplitsAttr = "graph.splits";
// Attribute of a collective of the `shard` dialect: #graph.communication, its role; `async` if it
// may overlap with compute.
constexpr llvm::StringLiteral kCommunicationAttr = "graph.communication";

// Attributes of an op of the step: the chunk of the model, in model order (i64), and "forward" or
// "backward". Parameters have the chunk that reads them.
constexpr llvm::StringLiteral kChunkAttr = "graph.chunk";
constexpr llvm::StringLiteral kPhaseAttr = "graph.phase";
// Attribute of graph.repeat and graph.call: the name of a Recompute for its block; absent if
// nothing is recomputed.
constexpr llvm::StringLiteral kRecomputeAttr = "graph.recompute";

// Functions: the model; the work of one micro-batch; the work once per step.
constexpr llvm::StringLiteral kLossFunction = "loss";
constexpr llvm::StringLiteral kMicrobatchFunction = "microbatch";
constexpr llvm::StringLiteral kUpdateFunction = "update";
// States of the step itself, if present: the number of steps skipped because their gradients were
// not finite; the loss scale; the applied steps since the scale last changed.
constexpr llvm::StringLiteral kSkippedState = "step.skipped";
constexpr llvm::StringLiteral kLossScaleState = "step.loss_scale";
constexpr llvm::StringLiteral kGoodStepsState = "step.good_steps";
// Attribute of the module: "bf16" if gradients are reduced in it; f32 without it.
constexpr llvm::StringLiteral kGradDtypeAttr = "graph.grad_dtype";
// Name of the shard.grid op that is the mesh.
constexpr llvm::StringLiteral kMeshName = "mesh";

} // namespace dtc::graph
