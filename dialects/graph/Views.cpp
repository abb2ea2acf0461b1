// Finds views: tensors that have the elements of another one in another shape.
#include "dialects/graph/Views.h"

using namespace mlir;

namespace dtc::graph {

bool isView(Operation *op) {
  auto interface = dyn_cast_or_null<RuleOpInterface>(op);
  return interface && interface.getRule().kind == OpKind::View;
}

Value rootOf(Value value) {
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

} // namespace dtc::graph
