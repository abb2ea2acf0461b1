// The placements of the optimizer's step. Internal to this folder.
#pragma once

#include "passes/shard/Mesh.h"

namespace dtc {

// Splits every op of '@update' where the state, parameters and gradients that it reads are split:
// nothing is left to choose, as these are where they rest. Sums of scalars (squares of gradients
// for the norm) stay unfinished as long as they can. Arguments are where '@microbatch' leaves them,
// whose results and all parameters and states have a placement. Fails after a diagnostic where an
// argument is nothing that '@microbatch' returns.
mlir::LogicalResult placeUpdate(mlir::ModuleOp step, const Mesh &mesh);

} // namespace dtc
