// Reads the shape of a transformer off its forward pass.
#pragma once

#include "compiler/decide/plan/Architecture.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Returns what `module` says of the sizes and the kinds of its layers. `isWhole` is set where its
// blocks are decoders of one kind with an embedding of tokens in front: what a launcher's flags
// say.
ModelArchitecture readArchitecture(mlir::ModuleOp module);

} // namespace dtc
