// Products of linear layers in 8 bits.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc {

// Rounds the operands of the products of linear layers in '@loss' and its blocks to 8 bits: input
// and weight to e4m3, the gradient of the result to e5m2, each by its own largest magnitude. Output
// layers and routers stay as they are, and so do products of experts. Fails, with an error, for a
// product that sums over, or gives, a number of channels that is no multiple of 16.
mlir::LogicalResult roundProducts(mlir::ModuleOp module);

} // namespace dtc
