// The mesh that a plan's degrees of parallelism make for a model.
#pragma once

#include "passes/shard/Mesh.h"

namespace dtc {

// dp x tp. Where attention has fewer kv heads than tp, or a number that tp does not divide, tensor
// parallelism has two axes, both of its role: "tp.kv", the largest divisor of tp that divides the
// kv heads, outside "tp.group", the ranks that hold the same kv heads. Whatever has no kv heads is
// split over both together.
//
// Example: 4 kv heads with 4 query heads each on tp = 8: 4 x 2. A rank has one kv head and two of
// its query heads; two ranks add up the gradients of a kv head.
Mesh stepMesh(mlir::ModuleOp model, int64_t dp, int64_t tp);

} // namespace dtc
