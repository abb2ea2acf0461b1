// What brings an unfinished sum elsewhere: done to every part of the sum, it is done to the sum.
#pragma once

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace dtc {

// Collectives of sums, parts of tensors, and dims made to divide by zeros.
inline bool movesSum(mlir::Operation *op) {
  bool isMove = graph::isCollective(op) ||
                mlir::isa<mlir::shard::AllSliceOp, graph::PadOp, graph::SliceOp>(op);
  return isMove && op->getNumOperands() == 1 && op->getNumResults() == 1;
}

} // namespace dtc
