// Rewrites the body of one function from the logical device to one rank.
#include "passes/shard/FunctionPartitioner.h"

#include "dialects/graph/Placement.h"
#include "passes/shard/OpSplit.h"
#include "passes/shard/Reshard.h"

using namespace mlir;

namespace dtc {

std::string BlockKey::text() const {
  std::string text = callee;
  for (auto [placement, weight] : llvm::zip(arguments, weights))
    text += (weight ? "|w" : "|") + toString(placement);
  for (const std::optional<Placement> &hint : hints)
    text += hint ? ">" + toString(*hint) : ">";
  return text;
}

Placement placementOfSymbol(ModuleOp module, StringRef symbol, const Mesh &mesh) {
  Operation *op = module.lookupSymbol(symbol);
  if (auto parameter = dyn_cast<graph::ParameterOp>(op))
    return fromAttr(parameter.getPlacementAttr(), mesh);
  return fromAttr(cast<graph::StateOp>(op).getPlacementAttr(), mesh);
}

std::optional<Placement> placementInUse(ModuleOp module, StringRef symbol, const Mesh &mesh) {
  auto parameter = module.lookupSymbol<graph::ParameterOp>(symbol);
  if (!parameter || !parameter.getInUse() || *parameter.getInUse() == parameter.getPlacement())
    return std::nullopt;
  return fromAttr(*parameter.getInUse(), mesh);
}

// Nothing waits for a gradient before the end of the step, nor for a parameter before its next use.
static graph::CommunicationAttr communication(MLIRContext *context, graph::CollectiveRole role,
                                              int64_t use = 0) {
  bool async = role == graph::CollectiveRole::Gradient || role == graph::CollectiveRole::Parameter;
  return graph::CommunicationAttr::get(context, role, async, use);
}

FunctionPartitioner::FunctionPartitioner(ModuleOp module, graph::FuncOp from, graph::FuncOp to,
                                         const Mesh &mesh, const PlacementPolicy &policy,
                                         BlockResolver resolve)
    : module(module), from(from), to(to), mesh(mesh), policy(policy), resolve(std::move(resolve)),
      builder(to.getContext()) {
  builder.setInsertionPointToEnd(&to.getBody().front());
}

void FunctionPartitioner::addArgument(BlockArgument argument, const Placement &placement,
                                      bool weight) {
  auto global = cast<RankedTensorType>(argument.getType());
  Value local =
      to.getBody().front().addArgument(localType(global, placement, mesh), argument.getLoc());
  values[argument] = {local, placement, weight, std::nullopt};
}

void FunctionPartitioner::move(Value value, const Placement &placement,
                               graph::CollectiveRole role) {
  Value local = localAs(value, placement, role);
  PlacedValue &now = values[value];
  now.local = local;
  now.placement = placement;
  now.role = role;
}

Value FunctionPartitioner::localAs(Value value, const Placement &placement) {
  return localAs(value, placement, roleOf(value));
}

Value FunctionPartitioner::localAs(Value value, const Placement &placement,
                                   graph::CollectiveRole role) {
  const PlacedValue &now = values.find(value)->second;
  return reshard(builder, value.getLoc(), now.local, cast<RankedTensorType>(value.getType()),
                 now.placement, placement, mesh, communication(builder.getContext(), role));
}

// What the tensor is to the step. Only gradients of parameters have a hint.
graph::CollectiveRole FunctionPartitioner::roleOf(Value value) const {
  const PlacedValue &now = values.find(value)->second;
  if (now.role)
    return *now.role;
  if (now.weight)
    return graph::CollectiveRole::Parameter;
  if (hints.count(value))
    return graph::CollectiveRole::Gradient;
  // Single numbers: the loss, a norm.
  if (cast<RankedTensorType>(value.getType()).getRank() == 0)
    return graph::CollectiveRole::Control;
  return defaultRole;
}

ValueRange FunctionPartitioner::returned() const {
  graph::FuncOp func = from;
  return func.getBody().front().getTerminator()->getOperands();
}

void FunctionPartitioner::finish(ValueRange results) {
  graph::ReturnOp::create(builder, from.getLoc(), results);
  to.setFunctionType(FunctionType::get(to.getContext(), to.getBody().front().getArgumentTypes(),
                                       results.getTypes()));
}

LogicalResult FunctionPartitioner::rewriteBody() {
  spreadHints();
  for (Operation &op : from.getBody().front().without_terminator())
    if (failed(rewrite(op)))
      return failure();
  return success();
}

// A sum's terms are wanted where the sum is wanted.
void FunctionPartitioner::spreadHints() {
  for (Operation &op : llvm::reverse(from.getBody().front().without_terminator())) {
    auto interface = dyn_cast<graph::RuleOpInterface>(op);
    if (!interface || op.getNumResults() != 1 || !hints.count(op.getResult(0)) ||
        !interface.getRule().jointlyLinear)
      continue;
    Placement hint = hints[op.getResult(0)];
    for (Value operand : op.getOperands())
      if (operand.getType() == op.getResult(0).getType())
        hints.try_emplace(operand, hint);
  }
}

std::optional<Placement> FunctionPartitioner::hintOf(Value value) const {
  auto it = hints.find(value);
  return it == hints.end() ? std::nullopt : std::optional<Placement>(it->second);
}

LogicalResult FunctionPartitioner::rewrite(Operation &op) {
  gatherOperands(op);
  if (auto get = dyn_cast<graph::GetOp>(op)) {
    rewriteGet(get);
    return success();
  }
  if (auto set = dyn_cast<graph::SetOp>(op)) {
    Value local = localAs(set.getValue(), placementOfSymbol(module, set.getSymbol(), mesh),
                          graph::CollectiveRole::Parameter);
    graph::SetOp::create(builder, set.getLoc(), set.getSymbolAttr(), local);
    return success();
  }
  if (auto input = dyn_cast<graph::InputOp>(op)) {
    values[input.getResult()] = {builder.clone(op)->getResult(0), replicated(mesh), false,
                                 std::nullopt};
    return success();
  }
  if (auto call = dyn_cast<graph::CallOp>(op))
    return rewriteCall(call);
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  if (!interface)
    return op.emitOpError("has no sharding rule, so it can't be partitioned");
  return rewriteByRule(op, interface);
}

void FunctionPartitioner::rewriteGet(graph::GetOp get) {
  Placement placement = placementOfSymbol(module, get.getSymbol(), mesh);
  auto global = cast<RankedTensorType>(get.getType());
  auto local = graph::GetOp::create(builder, get.getLoc(), localType(global, placement, mesh),
                                    get.getSymbolAttr());
  bool weight = isa<graph::ParameterOp>(module.lookupSymbol(get.getSymbol()));
  values[get.getResult()] = {local.getResult(), placement, weight, std::nullopt};
  std::optional<Placement> inUse = placementInUse(module, get.getSymbol(), mesh);
  if (inUse && gathersForUses)
    resting[get.getResult()] = {local.getResult(), placement, *inUse};
}

// Each use gets the parameter anew, so that no rank holds all of it from one use to the next.
void FunctionPartitioner::gatherOperands(Operation &op) {
  llvm::SmallPtrSet<Value, 4> done;
  for (Value operand : op.getOperands()) {
    auto found = resting.find(operand);
    if (found == resting.end() || !done.insert(operand).second)
      continue;
    RestingParameter &parameter = found->second;
    Value local = reshard(
        builder, op.getLoc(), parameter.local, cast<RankedTensorType>(operand.getType()),
        parameter.atRest, parameter.inUse, mesh,
        communication(builder.getContext(), graph::CollectiveRole::Parameter, ++parameter.uses));
    values[operand].local = local;
    values[operand].placement = parameter.inUse;
  }
}

LogicalResult FunctionPartitioner::rewriteCall(graph::CallOp call) {
  BlockKey key{call.getCallee().str(), {}, {}, {}};
  SmallVector<Value> operands;
  auto told = call->getAttrOfType<DenseI64ArrayAttr>(kSplitAttr);
  for (auto [index, operand] : llvm::enumerate(call.getOperands())) {
    const PlacedValue value = values[operand];
    Placement wanted = value.placement;
    if (told && policy.weightAxis >= 0 && told[index] != split::kKeep)
      wanted[policy.weightAxis] = told[index] == split::kNone ? AxisPlacement::replicate()
                                                              : AxisPlacement::shard(told[index]);
    for (unsigned axis = 0; told && axis < mesh.numAxes(); ++axis)
      if (static_cast<int>(axis) != policy.weightAxis && mesh.sizes[axis] > 1 &&
          wanted[axis].isShard() && wanted[axis] == wanted[policy.weightAxis])
        return call.emitOpError("can't have dim ")
               << wanted[axis].dim << " of operand " << index << " split over '" << mesh.names[axis]
               << "' and '" << mesh.names[policy.weightAxis] << "'";
    // Blocks are cut where activations are whole sums, so that a block called twice is partitioned
    // once.
    for (AxisPlacement &axis : wanted)
      if (axis.isPartial())
        axis = AxisPlacement::replicate();
    operands.push_back(localAs(operand, wanted));
    key.arguments.push_back(wanted);
    key.weights.push_back(value.weight);
  }
  for (Value result : call.getResults())
    key.hints.push_back(hintOf(result));
  FailureOr<LocalBlock> block = resolve(key);
  if (failed(block))
    return failure();
  auto local = graph::CallOp::create(builder, call.getLoc(), block->func.getResultTypes(),
                                     FlatSymbolRefAttr::get(block->func.getSymNameAttr()), operands,
                                     call.getInstanceAttr(), ArrayAttr(), ArrayAttr());
  for (auto [index, result] : llvm::enumerate(call.getResults()))
    values[result] = {local.getResult(index), block->results[index], false, std::nullopt};
  return success();
}

// Whether the op can be split as kSplitAttr says, wherever the data axis splits it.
LogicalResult FunctionPartitioner::checkSplit(Operation &op, const graph::OpRule &rule) const {
  auto attr = op.getAttrOfType<IntegerAttr>(kSplitAttr);
  if (!attr || policy.weightAxis < 0 || mesh.sizes[policy.weightAxis] == 1)
    return success();
  constexpr llvm::StringLiteral mend =
      "; 'op_splits' of the plan ask for it: plan this model again with 'dtc plan'";
  int64_t choice = attr.getInt(), parts = mesh.sizes[policy.weightAxis];
  if (choice >= static_cast<int64_t>(rule.loops.size()) || choice < split::kPartial)
    return op.emitOpError("has ") << rule.loops.size() << " loops, so it can't be split along loop "
                                  << choice << mend;
  if (choice >= 0 && !canSplitLoop(rule, static_cast<int>(choice), parts))
    return op.emitOpError("can't be split along loop ")
           << choice << " into " << parts << " parts: its rule does not allow it" << mend;
  if (choice != split::kPartial)
    return success();
  if (!rule.jointlyLinear)
    return op.emitOpError("does not commute with sums, so its operands can't stay partial") << mend;
  for (Value operand : op.getOperands()) {
    const AxisPlacement &now = values.find(operand)->second.placement[policy.weightAxis];
    if (now.isPartial() && now.reduce != graph::ReduceKind::Sum)
      return op.emitOpError("has a maximum as operand that can't stay partial in a sum") << mend;
  }
  return success();
}

// Whether the loop that kSplitAttr names is left to it by the other axes.
static LogicalResult checkOneAxisPerLoop(Operation &op, const OpDecision &decision,
                                         const Mesh &mesh) {
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
    for (unsigned other = 0; other < axis; ++other)
      if (decision.loops[axis] >= 0 && decision.loops[axis] == decision.loops[other] &&
          mesh.sizes[axis] > 1 && mesh.sizes[other] > 1)
        return op.emitOpError("can't be split along loop ")
               << decision.loops[axis] << " over both '" << mesh.names[other] << "' and '"
               << mesh.names[axis] << "'";
  return success();
}

LogicalResult FunctionPartitioner::rewriteByRule(Operation &op, graph::RuleOpInterface interface) {
  graph::OpRule rule = interface.getRule();
  SmallVector<OperandState> states;
  for (Value operand : op.getOperands()) {
    const PlacedValue &value = values[operand];
    states.push_back(
        {cast<RankedTensorType>(operand.getType()), value.placement, value.weight, false});
  }
  SmallVector<std::optional<Placement>> resultHints;
  for (Value result : op.getResults())
    resultHints.push_back(hintOf(result));
  if (failed(checkSplit(op, rule)))
    return failure();
  OpDecision decision = placeOp(&op, rule, states, resultHints, mesh, policy);
  if (failed(checkOneAxisPerLoop(op, decision, mesh)))
    return failure();

  // What experts get and give travels for them, whichever op needs it brought there.
  std::optional<graph::CollectiveRole> role;
  if (!rule.capacityLoops.empty())
    role = graph::CollectiveRole::Expert;
  SmallVector<Value> operands;
  for (auto [operand, placement] : llvm::zip(op.getOperands(), decision.operands))
    operands.push_back(localAs(operand, placement, role.value_or(roleOf(operand))));
  SmallVector<Type> types;
  for (auto [result, placement] : llvm::zip(op.getResults(), decision.results))
    types.push_back(localType(cast<RankedTensorType>(result.getType()), placement, mesh));
  OperationState state(op.getLoc(), op.getName(), operands, types, op.getAttrs());
  Operation *local = builder.create(state);
  local->removeAttr(kSplitAttr);
  attachWindows(op, *local, rule, decision);

  bool view = op.getNumOperands() == 1 && states[0].weight && rule.jointlyLinear;
  for (auto [index, result] : llvm::enumerate(op.getResults()))
    values[result] = {local->getResult(index), decision.results[index], view, role};
  return success();
}

// Tells an op whose result depends on global indices which part of its loops it has.
void FunctionPartitioner::attachWindows(Operation &op, Operation &local, const graph::OpRule &rule,
                                        const OpDecision &decision) {
  SmallVector<Attribute> windows;
  for (unsigned loop : rule.indexedLoops) {
    Placement ofLoop = replicated(mesh);
    for (auto [axis, split] : llvm::enumerate(decision.loops))
      if (split == static_cast<int>(loop))
        ofLoop[axis] = AxisPlacement::shard(0);
    graph::DimSplit split = graph::getDimSplit(ofLoop, mesh.sizes, 0);
    if (!split.axes.empty())
      windows.push_back(graph::getWindow(op.getContext(), loop, split, rule.loops[loop].size));
  }
  if (!windows.empty())
    local.setAttr("windows", builder.getArrayAttr(windows));
  if (auto random = dyn_cast<graph::RandomOpInterface>(local))
    random.becomePartOf(cast<RankedTensorType>(op.getResult(0).getType()).getShape());
}

} // namespace dtc
