// Reverse-mode differentiation of a straight list of graph ops.
#include "passes/graph/ReverseMode.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/RoundAttribute.h"
#include "dialects/graph/StateOps.h"

using namespace mlir;

namespace dtc {

// Marks the active values: those that depend on a wanted one through floats. Integers carry no
// gradient.
void ReverseMode::markActive(ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    if (isa<graph::DetachOp>(op) ||
        llvm::none_of(op->getOperands(), [&](Value operand) { return active.contains(operand); }))
      continue;
    for (Value result : op->getResults())
      if (isa<FloatType>(graph::tensorOf(result.getType()).getElementType()))
        active.insert(result);
  }
}

// An addition is of a later round where it would not be there without these: one of its operands is
// of later rounds alone.
LogicalResult ReverseMode::accumulate(Value value, Value gradient) {
  Value &sum = gradients[value];
  if (sum && isa<graph::StackType>(sum.getType()))
    return emitError(value.getLoc()) << "a stack of parameters that two repeats read has no "
                                        "gradient; give each repeat parameters of its own";
  Operation *maker = gradient.getDefiningOp();
  bool isLater = maker && maker->hasAttr(graph::kLaterRoundAttr);
  if (!sum) {
    sum = gradient;
    if (isLater)
      ofLaterRounds.insert(sum);
    return success();
  }
  bool isSumLater = ofLaterRounds.contains(sum);
  auto add = graph::AddOp::create(builder, gradient.getLoc(), gradient.getType(), sum, gradient);
  sum = add.getResult();
  if (isLater || isSumLater)
    add->setAttr(graph::kLaterRoundAttr, builder.getUnitAttr());
  if (isLater && isSumLater)
    ofLaterRounds.insert(sum);
  return success();
}

namespace {

// The ops that were built at a builder's insertion point since construction.
class NewOps {
public:
  explicit NewOps(OpBuilder &builder)
      : builder(builder), before(builder.getInsertionPoint() == builder.getBlock()->begin()
                                     ? nullptr
                                     : &*std::prev(builder.getInsertionPoint())) {}
  SmallVector<Operation *> list() const {
    SmallVector<Operation *> ops;
    auto begin = before ? std::next(before->getIterator()) : builder.getBlock()->begin();
    for (Operation &op : llvm::make_range(begin, builder.getInsertionPoint()))
      ops.push_back(&op);
    return ops;
  }

private:
  OpBuilder &builder;
  Operation *before;
};

} // namespace

// Applies the chain rule from the loss back. The list is in the order of use, so all readers of an
// op's results have added their gradients before the op itself is visited. Inactive values cost
// nothing (activity analysis: Griewank and Walther 2008, "Evaluating Derivatives", chapter 6).
LogicalResult ReverseMode::run(ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops)) {
    SmallVector<Value> resultGradients;
    for (Value result : op->getResults())
      resultGradients.push_back(gradients.lookup(result));
    if (llvm::none_of(resultGradients, [](Value gradient) { return static_cast<bool>(gradient); }))
      continue;
    SmallVector<bool> needed;
    for (Value operand : op->getOperands())
      needed.push_back(active.contains(operand));
    if (!llvm::is_contained(needed, true))
      continue;
    NewOps made(builder);
    SmallVector<Value> operandGradients(op->getNumOperands());
    if (auto call = dyn_cast<graph::BlockCallOpInterface>(op)) {
      if (failed(callGradient(call, resultGradients, operandGradients)))
        return failure();
    } else if (auto interface = dyn_cast<graph::GradientOpInterface>(op)) {
      if (failed(interface.buildGradient(builder, resultGradients, needed, operandGradients)))
        return failure();
    } else {
      return op->emitOpError("has no gradient, but a parameter's gradient flows through it");
    }
    if (Attribute isLater = op->getAttr(graph::kLaterRoundAttr))
      for (Operation *gradient : made.list())
        gradient->setAttr(graph::kLaterRoundAttr, isLater);
    for (auto [operand, gradient] : llvm::zip(op->getOperands(), operandGradients))
      if (gradient && failed(accumulate(operand, gradient)))
        return failure();
    if (Attribute chunk = op->getAttr(graph::kChunkAttr))
      for (Operation *gradient : made.list())
        if (gradient->getNumOperands() > 0) // constants belong to no chunk
          gradient->setAttr(graph::kChunkAttr, chunk);
  }
  return success();
}

} // namespace dtc
