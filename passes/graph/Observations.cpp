// Finds and drops the observations of a model's state.
#include "passes/graph/Observations.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/RouteOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/StateAttributes.h"
#include "dialects/graph/StateOps.h"

using namespace mlir;

namespace dtc {

// Returns the values whose elements `value` has, in the same order and shape or, for moved uses, in
// others.
static SmallVector<Value> sourcesOf(Value value, UseKind kind) {
  if (kind == UseKind::Exact)
    return {value};
  SmallVector<Value> sources, pending = {value};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    auto op = next.getDefiningOp<graph::RuleOpInterface>();
    graph::OpRule rule = op ? op.getRule() : graph::OpRule();
    if (!rule.jointlyLinear || rule.flopsPerPoint != 0) {
      sources.push_back(next);
      continue;
    }
    for (OpOperand &operand : op->getOpOperands())
      if (!rule.isComplete(operand.getOperandNumber()))
        pending.push_back(operand.get());
  }
  return sources;
}

SmallVector<ParameterUse> usesOf(graph::FuncOp func,
                                 llvm::function_ref<SmallVector<Value>(Operation &)> choose,
                                 UseKind kind) {
  SmallVector<ParameterUse> found;
  auto module = func->getParentOfType<ModuleOp>();
  for (Operation &op : func.getBody().front().without_terminator()) {
    for (Value value : choose(op))
      for (Value source : sourcesOf(value, kind))
        found.push_back({source, &op});
    auto call = dyn_cast<graph::BlockCallOpInterface>(op);
    if (!call)
      continue;
    auto block = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
    for (ParameterUse use : usesOf(block, choose, kind))
      if (auto argument = dyn_cast<BlockArgument>(use.value))
        for (Value source : sourcesOf(call->getOperand(argument.getArgNumber()), kind))
          found.push_back({source, use.user});
  }
  return found;
}

// Returns the state that an op observes, if it does.
static SmallVector<Value> stateOf(Operation &op) {
  if (auto observe = dyn_cast<graph::ObserveOp>(op))
    return {observe.getState()};
  return {};
}

// Returns true if an op makes whole numbers of floats, such as the indices that a buffer holds.
static bool makesIndices(Operation &op) {
  return isa<graph::CastOp>(op) && isa<IntegerType>(getElementTypeOrSelf(op.getResult(0))) &&
         isa<FloatType>(getElementTypeOrSelf(op.getOperand(0)));
}

llvm::StringSet<> wideParameters(ModuleOp module) {
  llvm::StringSet<> names;
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  if (!loss)
    return names;
  auto operandsOf = [](Operation &op) -> SmallVector<Value> {
    auto route = dyn_cast<graph::RouteTokensOp>(op);
    if (route && route.getBias())
      return {route.getBias()};
    if (makesIndices(op))
      return {op.getOperand(0)};
    SmallVector<Value> wide;
    auto indexed = dyn_cast<graph::IndexOpInterface>(op);
    for (OpOperand &operand : op.getOpOperands())
      if (op.hasAttr(graph::kWideAttr) ||
          (indexed && indexed.getIndexLimit(operand.getOperandNumber()) > 0))
        wide.push_back(operand.get());
    return wide;
  };
  for (ParameterUse use : usesOf(loss, operandsOf, UseKind::Moved))
    if (auto get = use.value.getDefiningOp<graph::GetOp>())
      names.insert(get.getSymbol());
  return names;
}

void noteUpdates(ModuleOp module) {
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  auto microBatches = module->getAttrOfType<IntegerAttr>(graph::kMicroBatchesAttr);
  for (ParameterUse use : usesOf(loss, stateOf, UseKind::Exact)) {
    auto observe = cast<graph::ObserveOp>(use.user);
    Operation *state = module.lookupSymbol(use.value.getDefiningOp<graph::GetOp>().getSymbol());
    if (FloatAttr rate = observe.getRateAttr())
      state->setAttr(graph::kRateAttr, rate);
    if (observe.getKind() == graph::ObserveKind::Last && microBatches && microBatches.getInt() > 1)
      state->setAttr(graph::kCopiesAttr, microBatches);
  }
}

FailureOr<llvm::StringSet<>> observedParameters(ModuleOp module) {
  llvm::StringSet<> names;
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  if (!loss)
    return names;
  for (auto [value, user] : usesOf(loss, stateOf, UseKind::Exact)) {
    auto get = value.getDefiningOp<graph::GetOp>();
    auto parameter = get ? module.lookupSymbol<graph::ParameterOp>(get.getSymbol()) : nullptr;
    if (!parameter || !parameter.getFrozen())
      return emitError(value.getLoc()) << "is observed, so that it has to be a parameter that is "
                                          "'frozen': gradients don't change it";
    if (!names.insert(parameter.getSymName()).second)
      return parameter.emitError("'")
             << parameter.getSymName()
             << "' is observed twice; a step gives a state one next value, so that an op that "
                "keeps state stands in one place";
  }
  return names;
}

void dropObservations(ModuleOp module) {
  module.walk([](Operation *op) {
    if (!isa<graph::ObserveOp, graph::DetachOp>(op))
      return;
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  });
}

} // namespace dtc
