// Gives the gradients of narrow parameters f32 (pass dtc-widen-gradients).
//
// Walks from the results of '@microbatch' back to the ops that add them up. Such an op rounds its
// sum to its result's type, so f32 costs nothing there. Ops that only add or move gradients on the
// way get f32 too, also from layer to layer of a repeat. Anything else is cast.
#include "passes/graph/Passes.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/ShapeOps.h"

namespace dtc {
#define GEN_PASS_DEF_WIDENGRADIENTS
#include "passes/graph/Passes.h.inc"

using namespace mlir;

namespace {

class GradientWidener {
public:
  explicit GradientWidener(ModuleOp module)
      : module(module), wide(Float32Type::get(module.getContext())) {}

  void run(graph::FuncOp microbatch) {
    Operation *returned = microbatch.getBody().front().getTerminator();
    for (unsigned index = 0; index < microbatch.getNumResults(); ++index)
      if (microbatch.getResultAttr(index, graph::kGradientOfAttr))
        widenOperand(returned->getOpOperand(index));
    setFunctionType(microbatch);
  }

private:
  bool isWide(Type type) const { return graph::tensorOf(type).getElementType() == wide; }

  Type widened(Type type) const {
    return graph::withTensor(type, graph::tensorOf(type).clone(wide));
  }

  void setFunctionType(graph::FuncOp func) {
    Block &body = func.getBody().front();
    func.setFunctionType(FunctionType::get(module.getContext(), body.getArgumentTypes(),
                                           body.getTerminator()->getOperandTypes()));
  }

  void widenOperand(OpOperand &operand) {
    if (isWide(operand.get().getType()))
      return;
    Value value = operand.get();
    if (auto round = value.getDefiningOp<graph::CastOp>(); round && isWide(round.getX().getType()))
      return operand.set(round.getX());
    if (value.hasOneUse() && value.getDefiningOp() && widenResult(cast<OpResult>(value)))
      return;
    OpBuilder builder(operand.getOwner());
    operand.set(graph::CastOp::create(builder, value.getLoc(), widened(value.getType()), value));
  }

  // Makes the op that defines the value return f32; returns false if it cannot.
  bool widenResult(OpResult result) {
    Operation *op = result.getOwner();
    if (auto call = dyn_cast<graph::BlockCallOpInterface>(op))
      return widenCall(call, result.getResultNumber());
    if (isa<graph::ConstantOp>(op)) {
      result.setType(widened(result.getType()));
      return true;
    }
    auto interface = dyn_cast<graph::RuleOpInterface>(op);
    if (!interface)
      return false;
    graph::OpRule rule = interface.getRule();
    bool addsUp = llvm::any_of(
        rule.loops, [](const graph::Loop &loop) { return loop.kind == graph::LoopKind::Sum; });
    if (!addsUp && rule.jointlyLinear)
      for (OpOperand &operand : op->getOpOperands())
        // the other operands of a broadcast only lend their size
        if ((!isa<graph::BroadcastOp>(op) || operand.getOperandNumber() == 0) &&
            !rule.isComplete(operand.getOperandNumber()))
          widenOperand(operand);
    if (addsUp || rule.jointlyLinear)
      result.setType(widened(result.getType()));
    return addsUp || rule.jointlyLinear;
  }

  // Widens stacks of gradients, and sums that a repeat carries.
  bool widenCall(graph::BlockCallOpInterface call, unsigned index) {
    auto block = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
    bool isCarried = static_cast<int64_t>(index) < call.getNumCarried();
    if (isCarried)
      block.getArgument(index).setType(widened(block.getArgument(index).getType()));
    widenOperand(block.getBody().front().getTerminator()->getOpOperand(index));
    setFunctionType(block);
    for (auto other : callsOf(block)) {
      Value result = other->getResult(index);
      if (isCarried)
        widenOperand(other->getOpOperand(index));
      if (other != call)
        keepUses(result);
      result.setType(widened(result.getType()));
    }
    return true;
  }

  // Rounds a result that becomes f32 for its other uses. Returned gradients become f32 themselves;
  // stacks of them have no other use.
  void keepUses(Value result) {
    auto isOther = [&](OpOperand &use) { return !isReturnedGradient(use); };
    if (llvm::none_of(result.getUses(), isOther))
      return;
    OpBuilder builder(module.getContext());
    builder.setInsertionPointAfterValue(result);
    auto round = graph::CastOp::create(builder, result.getLoc(), result.getType(), result);
    result.replaceUsesWithIf(round, [&](OpOperand &use) {
      return use.getOwner() != round.getOperation() && isOther(use);
    });
  }

  static bool isReturnedGradient(OpOperand &use) {
    auto func = cast<graph::FuncOp>(use.getOwner()->getParentOp());
    return use.getOwner()->hasTrait<OpTrait::IsTerminator>() &&
           func.getSymName() == graph::kMicrobatchFunction &&
           func.getResultAttr(use.getOperandNumber(), graph::kGradientOfAttr);
  }

  SmallVector<graph::BlockCallOpInterface> callsOf(graph::FuncOp block) {
    SmallVector<graph::BlockCallOpInterface> calls;
    for (auto func : module.getOps<graph::FuncOp>())
      for (auto call : func.getBody().getOps<graph::BlockCallOpInterface>())
        if (call.getBlockName() == block.getSymName())
          calls.push_back(call);
    return calls;
  }

  ModuleOp module;
  Type wide;
};

struct WidenGradients : impl::WidenGradientsBase<WidenGradients> {
  void runOnOperation() override {
    auto microbatch = getOperation().lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
    if (!microbatch) {
      getOperation().emitError(
          "dtc-widen-gradients needs '@microbatch'; run dtc-differentiate first");
      return signalPassFailure();
    }
    GradientWidener(getOperation()).run(microbatch);
  }
};

} // namespace
} // namespace dtc
