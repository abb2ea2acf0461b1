// Views: tensors that have the elements of another one in another shape.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc::graph {

// True if the op is a view of its operand 0.
bool isView(mlir::Operation *op);
// Returns the tensor that `value` is a view of; `value` itself if it is none.
mlir::Value rootOf(mlir::Value value);

} // namespace dtc::graph
