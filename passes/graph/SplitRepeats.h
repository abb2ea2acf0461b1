// Splits repeats at layers where decisions change.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc {

// Splits every graph.repeat that contains one of `boundaries` (ascending) other than as its first
// layer. Layers are the executions of blocks in '@loss', counted over all calls and repeats in the
// order of the program. A repeat becomes one up to the boundary and one from it on, each with its
// own parameters: with 12 layers and boundary 4, "h.{}.w" repeats 12 becomes "h.{}.w" repeats 4 and
// "h.{4}.w" repeats 8. The members keep their names and initial values, and random ops draw the
// same numbers.
//
// Fails after a diagnostic if a repeat that must be split returns stacks, or reads a stack that is
// not its own parameter.
llvm::LogicalResult splitRepeats(mlir::ModuleOp module, llvm::ArrayRef<int64_t> boundaries);

} // namespace dtc
