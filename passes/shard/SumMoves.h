// Ops that move a partial sum: applied to every contribution, they are applied to the sum.
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/ShapeOps.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace dtc {

// True for collectives, slices and padding with zeros.
inline bool movesSum(mlir::Operation *op) {
  bool isMove = graph::isCollective(op) ||
                mlir::isa<mlir::shard::AllSliceOp, graph::PadOp, graph::SliceOp>(op);
  return isMove && op->getNumOperands() == 1 && op->getNumResults() == 1;
}

} // namespace dtc
