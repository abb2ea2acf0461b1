// What a placement makes of a tensor on a mesh.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtc::graph {

// The sizes of the axes of the module's mesh (the op shard.grid @mesh), outermost first; none
// without a mesh.
std::optional<llvm::SmallVector<int64_t>> getMeshSizes(mlir::Operation *insideModule);

// The type of one rank's part: every split dim divided by the sizes of its axes, rounded up, so
// that all ranks have the same type and the last ones may hold padding. Dynamic dims stay dynamic.
//
// Example: tensor<50257x768xf32>, [replicate, shard(0)] on a 2x8 mesh gives tensor<6283x768xf32>.
mlir::RankedTensorType getLocalType(mlir::RankedTensorType global, PlacementAttr placement,
                                    llvm::ArrayRef<int64_t> meshSizes);

} // namespace dtc::graph
