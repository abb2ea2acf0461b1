// The values of a rank's program that are partial sums, which ranks have yet to finish.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc {

// Returns for each partial sum of a block a bit mask of the mesh axes along which it is partial;
// whole values are left out. Ops mark the sums that they make (graph.unfinished, graph.scale of
// shares). An op that commutes with sums passes the mask on until a collective finishes the sum.
// Any other op reads the value as if it were whole; `dtc verify` refuses such programs.
//
// Example, w split by rows along axis 1:
//   %0 = graph.reduce_sum %x dims [1] {graph.unfinished = array<i64: 2>}    2
//   %1 = graph.scale %0 by 0.5                                             2
//   %2 = shard.all_reduce %1 on @mesh grid_axes = [1]                      0
llvm::DenseMap<mlir::Value, int64_t> findUnfinished(mlir::Block &block);

} // namespace dtc
