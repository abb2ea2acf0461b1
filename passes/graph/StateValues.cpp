// Follows the value of a state back to the samples that it is made of.
#include "passes/graph/StateValues.h"

#include "dialects/graph/StateAttributes.h"

using namespace mlir;

namespace dtc {

static bool hasBatch(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && !type.hasStaticShape();
}

namespace {

// Collects the ops without the batch on the way to a value, and what they are made of.
struct WayToState {
  explicit WayToState(Value value) { follow(value); }

  void follow(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op) {
      sources.arguments.insert(value);
      return;
    }
    if (llvm::any_of(op->getOperands(), hasBatch)) {
      sources.overSamples.insert(value);
      return;
    }
    if (ops.insert(op).second)
      llvm::for_each(op->getOperands(), [&](Value operand) { follow(operand); });
  }

  StateSources sources;
  llvm::SmallPtrSet<Operation *, 8> ops;
};

} // namespace

StateSources sourcesOf(graph::ObserveOp observe) { return WayToState(observe.getValue()).sources; }

bool takesWholeBatch(graph::ObserveOp observe) {
  return observe.getKind() == graph::ObserveKind::Max ||
         (observe.getKind() == graph::ObserveKind::Last && !sourcesOf(observe).overSamples.empty());
}

void finishSources(graph::ObserveOp observe) {
  WayToState way(observe.getValue());
  for (Value value : way.sources.overSamples) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    value.getDefiningOp()->setAttr(graph::kStatisticAttr, builder.getUnitAttr());
    auto finish = graph::FinishOp::create(builder, value.getLoc(), value.getType(), value);
    value.replaceUsesWithIf(finish.getResult(), [&](OpOperand &use) {
      return &use == &observe.getValueMutable() || way.ops.contains(use.getOwner());
    });
  }
}

} // namespace dtc
