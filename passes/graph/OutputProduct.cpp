// Follows the result of a product to the loss.
#include "passes/graph/OutputProduct.h"

#include "dialects/graph/Graph.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dtc {
namespace {

// Returns true if a function returns a value of these ops as a sum over micro-batches, or as the
// result of '@loss'.
bool returnsSumOf(graph::FuncOp func, Operation *end, const llvm::SetVector<Operation *> &seen,
                  Operation &product) {
  for (OpOperand &use : end->getOpOperands()) {
    Operation *maker = use.get().getDefiningOp();
    if (maker && (maker == &product || seen.contains(maker)) &&
        (func.getName() == graph::kLossFunction ||
         func.getResultAttr(use.getOperandNumber(), graph::kAccumulatedAttr)))
      return true;
  }
  return false;
}

} // namespace

bool isOutputProduct(Operation &product) {
  auto func = product.getParentOfType<graph::FuncOp>();
  llvm::SetVector<Operation *> seen;
  auto addUsers = [&](Operation *op) { seen.insert(op->user_begin(), op->user_end()); };
  addUsers(&product);
  for (size_t next = 0; next < seen.size(); ++next) {
    Operation *op = seen[next];
    if (isa<graph::ReturnOp>(op)) {
      if (returnsSumOf(func, op, seen, product))
        return true;
      continue;
    }
    auto interface = dyn_cast<graph::RuleOpInterface>(op);
    if (!interface)
      continue;
    graph::OpRule rule = interface.getRule();
    if (rule.isGradient)
      continue;
    if (rule.kind == graph::OpKind::Loss)
      return true;
    if (rule.kind == graph::OpKind::Memory || rule.kind == graph::OpKind::View)
      addUsers(op);
  }
  return false;
}

} // namespace dtc
