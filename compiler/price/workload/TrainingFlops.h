// Counts the matrix products of a training step.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// The pairs of queries and keys that causal attention counts: all, or those that a query sees.
enum class CausalPairs { All, Seen };

// Returns the floating-point operations of matrix products that training takes for one sample of
// '@loss', whose batch is unbound: those of forward, and twice as many for backward. Where
// parameters are frozen, backward has the products of gradients that lead to trained parameters,
// and no others.
double trainingFlops(mlir::ModuleOp module, CausalPairs pairs);

} // namespace dtc
