#include "dialects/graph/Graph.h"
#include "dialects/graph/ShapeOps.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace dtc::graph;

RankedTensorType dtc::graph::tensorOf(Type type) {
  auto stack = dyn_cast<StackType>(type);
  return stack ? stack.getEntry() : cast<RankedTensorType>(type);
}

Type dtc::graph::withTensor(Type type, RankedTensorType tensor) {
  auto stack = dyn_cast<StackType>(type);
  return stack ? Type(StackType::get(type.getContext(), stack.getCount(), tensor)) : Type(tensor);
}

PlanOnlyOpInterface dtc::graph::findPlanOnly(Operation *root) {
  PlanOnlyOpInterface found;
  root->walk([&](PlanOnlyOpInterface op) {
    if (op.whyPlanOnly().empty())
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

LogicalResult dtc::graph::checkCompilable(Operation *root) {
  PlanOnlyOpInterface op = findPlanOnly(root);
  return op ? op->emitOpError(op.whyPlanOnly()) : success();
}

bool dtc::graph::isCollective(Operation *op) {
  return isa<shard::AllReduceOp, shard::AllGatherOp, shard::ReduceScatterOp, shard::AllToAllOp,
             shard::BroadcastOp, shard::SendOp, shard::RecvOp, shard::ShiftOp>(op);
}
