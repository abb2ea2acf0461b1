// Models whose sequences programs cut over ranks, and the kinds of context parallelism of these.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>

namespace dtc {

// Returns the first op of `module` that dtc can't compile with cp of 2 or more, such as a router of
// experts; null if there is none.
mlir::Operation *findUncuttable(mlir::ModuleOp module);

// Returns the kinds (bits by ContextKind) that the planner may choose by itself for programs of
// `module`, which holds '@loss' with an unbound batch. There are none unless all tokens meet in
// causal attention alone and the loss is one mean or sum over the step. Kinds are left out that
// some attention of the model rules out, such as a ring under dropout.
uint32_t contextKindsOf(mlir::ModuleOp module);

} // namespace dtc
