// Tensors that are the elements of another, under another shape.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc::graph {

// Whether the op is a view of its operand 0.
bool isView(mlir::Operation *op);
// What `value` is a view of; itself where it is none.
mlir::Value rootOf(mlir::Value value);

} // namespace dtc::graph
