// Which values of a rank's program are parts of sums that ranks have yet to finish.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc {

// The mesh axes, a bit each, along which a value of a block is such a part; values that are whole are
// left out. Ops say so of what they sum (graph.unfinished, graph.scale of shares). What is made of a
// part by an op that commutes with sums is a part, too, until a collective finishes it; any other op
// reads it as if it were whole, which is for `dtc verify` to refuse.
//
// Example, w split by rows along axis 1:
//   %0 = graph.reduce_sum %x dims [1] {graph.unfinished = array<i64: 2>}    2
//   %1 = graph.scale %0 by 0.5                                             2
//   %2 = shard.all_reduce %1 on @mesh grid_axes = [1]                      0
llvm::DenseMap<mlir::Value, int64_t> findUnfinished(mlir::Block &block);

} // namespace dtc
