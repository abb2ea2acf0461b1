// Writes into a model how a plan treats its layers.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Splits the repeats of '@loss' where the plan treats layers differently, and says on each call and
// repeat what backward runs again of it (graph.recompute). With stages, also where everything is:
// graph.stage_of_chunk on the module, and graph.chunk on parameters that are repeated and on every
// op of '@loss' that depends on a parameter: on a layer the chunk that the plan has it in, on what
// stands between layers that of the layer before, and at the start chunk 0. What depends on inputs
// alone is in no chunk: each that reads it makes it for itself.
//
// Fails after a diagnostic where the plan's layers are not the model's.
llvm::LogicalResult applyToLayers(mlir::ModuleOp module, const Plan &plan);

} // namespace dtc
