// The order in which ranks of context parallelism have the tokens of a sequence.
#pragma once

#include "passes/shard/Mesh.h"

namespace dtc {

// Makes axes of context parallelism that split a dim do so zigzag, if attention gathers keys or
// passes them round (graph::KeyTravel): ranks then have as much to do under a causal mask. `op` is
// in the module, or is it; parameters and what ZeRO splits are not to be passed.
void orderTokens(mlir::Operation *op, const Mesh &mesh, Placement &placement);

} // namespace dtc
