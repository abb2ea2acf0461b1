// Turns the program of one logical device into the program that every rank of the mesh runs.
#pragma once

#include "passes/shard/Mesh.h"

namespace dtc {

// Obeys what the module says: parameters and states carry their placement, ops their kSplitsAttr,
// arguments and results of functions their kPlacementAttr (OpSplit.h).
// Steps:
// 0. Ops that finish sums over a loop that is split are taken apart (Stages.h).
// 1. @microbatch and the blocks it calls are rewritten on local types, with reshard wherever a
//    value is not where it is needed. Gradients leave as @microbatch's results say: sums may stay
//    unfinished until the end of the step.
// 2. @update: gradients are first brought to where the optimizer state lives: all-reduce, or
//    reduce-scatter where state is split further than its parameter.
// Emits a diagnostic and fails where an attribute is missing or asks for what a rule does not
// allow.
mlir::LogicalResult partitionModule(mlir::ModuleOp module);

// The axis of data parallelism among whose ranks parts are spread: the innermost. Nothing where it
// has one rank.
std::optional<unsigned> shardAxis(const Mesh &mesh);

// Where a parameter rests that is used at `inUse` and spread over that axis: along its first dim, so
// that what is gathered is contiguous, else along the one that divides best. As `inUse` where no dim
// is left.
Placement shardedAtRest(mlir::RankedTensorType global, const Placement &inUse, const Mesh &mesh);

// Under graph.zero >= 1: splits each state along the dim that divides best among those the
// parameter leaves whole. States of parameters without such a dim stay as the parameter.
void assignStatePlacements(mlir::ModuleOp module, const Mesh &mesh);

// Where the optimizer wants the gradient of a parameter: as its state, or without state as the
// parameter.
Placement gradientRequest(mlir::ModuleOp module, llvm::StringRef parameter, const Mesh &mesh);

// The gradient or other sum that an argument or result carries from @microbatch to @update, by
// name: "gradient wte.weight", "sum loss"; "" for others.
std::string crossingName(mlir::DictionaryAttr attrs);

} // namespace dtc
