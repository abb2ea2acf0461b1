// Models whose sequences programs cut over ranks, and the kinds of context parallelism of these.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>

namespace dtc {

// Returns the first op of `module` that dtc can't compile with cp of 2 or more, such as a router of
// experts; null if there is none.
mlir::Operation *findUncuttable(mlir::ModuleOp module);

// Returns the kinds (bits by ContextKind) that all attention of `module` permits, where a pin asks
// for context parallelism.
uint32_t attentionKindsOf(mlir::ModuleOp module);

// Returns the kinds (bits by ContextKind) that the planner may choose by itself for programs of
// `module`, which holds '@loss' with an unbound batch: those of attentionKindsOf, or none unless
// all tokens meet in causal attention alone and the loss is one mean or sum over the step.
uint32_t contextKindsOf(mlir::ModuleOp module);

} // namespace dtc
