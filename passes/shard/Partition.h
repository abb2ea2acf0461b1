// Turns the program of one logical device into the program that every rank of the mesh runs.
#pragma once

#include "passes/shard/Mesh.h"
#include "passes/shard/Stored.h"

namespace dtc {

// Partitions the step as the module's attributes say: parameters and states carry their placement,
// ops their kSplitsAttr, arguments and results of functions their kPlacementAttr (OpSplit.h).
//
// Steps:
// - Ops that finish sums over a loop that is split are decomposed (Stages.h).
// - @microbatch and the blocks that it calls are rewritten on local types, with a reshard before
//   each use that needs another placement. Gradients leave as the results of @microbatch say: sums
//   may stay unfinished until the end of the step.
// - In @update, gradients are first moved to the placement of the optimizer state: by an
//   all-reduce, or by a reduce-scatter if the state is split further than its parameter.
//
// Fails after a diagnostic if an attribute is missing or asks for something that a rule does not
// allow.
mlir::LogicalResult partitionModule(mlir::ModuleOp module);

// Returns the placement in which the optimizer needs the gradient of a parameter: that of its
// state, or of the parameter if there is no state.
Placement gradientRequest(const Stored &stored, llvm::StringRef parameter, const Mesh &mesh);

// Returns the name of the gradient or other sum that an argument or result carries from @microbatch
// to @update: "gradient wte.weight", "sum loss"; "" for others.
std::string crossingName(mlir::DictionaryAttr attrs);

} // namespace dtc
