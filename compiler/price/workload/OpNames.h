// Names the ops of a partitioned step. Internal to this folder.
#pragma once

#include "dialects/graph/Graph.h"

#include <string>

namespace dtc {

// The parameter that an op reads, or else the one whose gradient it computes; "" where there is
// none. `call` is a call of the function that the op is in; null for an op of '@microbatch'. Of
// layers that share a function it is the parameter of the layer called.
// Example: the product of GPT-2's feed-forward layer: "transformer.h.0.mlp.c_fc.weight".
std::string parameterOf(mlir::Operation *op, graph::BlockCallOpInterface call);

} // namespace dtc
