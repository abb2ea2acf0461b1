// Takes repeats apart at layers where decisions change.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc {

// Layers are the executions of blocks in '@loss', counted over all calls and repeats in the order of
// the program. Every graph.repeat in which one of `boundaries` (ascending) is not the first layer
// becomes one repeat up to it and one from it on, each with parameters of its own: of 12 layers with
// boundary 4, "h.{}.w" repeats 12 becomes "h.{}.w" repeats 4 and "h.{4}.w" repeats 8. Their members
// have the names and initial values that they had, and random ops draw what they drew.
//
// Fails after a diagnostic where a repeat that has to be split gives stacks, or reads one that is no
// parameter of its own.
llvm::LogicalResult splitRepeats(mlir::ModuleOp module, llvm::ArrayRef<int64_t> boundaries);

} // namespace dtc
