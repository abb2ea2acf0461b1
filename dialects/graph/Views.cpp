// Finds views: tensors that have the elements of another one in another shape.
#include "dialects/graph/Views.h"

#include "dialects/graph/LayerwiseOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/StateOps.h"

using namespace mlir;

namespace dtc::graph {

// Names the ops whose rules have OpKind::View: planning asks so often that building a rule for the
// answer took an eighth of its time.
bool isView(Operation *op) { return isa_and_nonnull<ReshapeOp, FinishOp, WholeMatrixOp>(op); }

Value rootOf(Value value) {
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

} // namespace dtc::graph
