// Rewrites the body of one function from the logical device to one rank.
#include "passes/shard/FunctionPartitioner.h"

#include "dialects/graph/Placement.h"
#include "passes/shard/Reshard.h"

using namespace mlir;

namespace dtc {

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

static FailureOr<Placement> readPlacement(graph::FuncOp func, graph::PlacementAttr attr,
                                          StringRef what, unsigned index, const Mesh &mesh) {
  if (attr && attr.getAxes().size() == mesh.numAxes())
    return Placement(attr.getAxes().begin(), attr.getAxes().end());
  return func.emitOpError("needs '")
         << kPlacementAttr << "' with an entry for each of the " << mesh.numAxes()
         << " mesh axes on " << what << ' ' << index << "; run dtc-place first";
}

FailureOr<Placement> placementOfArgument(graph::FuncOp func, unsigned index, const Mesh &mesh) {
  return readPlacement(func, func.getArgAttrOfType<graph::PlacementAttr>(index, kPlacementAttr),
                       "argument", index, mesh);
}

FailureOr<Placement> placementOfResult(graph::FuncOp func, unsigned index, const Mesh &mesh) {
  return readPlacement(func, func.getResultAttrOfType<graph::PlacementAttr>(index, kPlacementAttr),
                       "result", index, mesh);
}

FunctionPartitioner::FunctionPartitioner(ModuleOp module, graph::FuncOp from, graph::FuncOp to,
                                         const Mesh &mesh, const ValueRoles &roles,
                                         BlockResolver resolve)
    : module(module), from(from), to(to), mesh(mesh), roles(roles), resolve(std::move(resolve)),
      builder(to.getContext()) {
  builder.setInsertionPointToEnd(&to.getBody().front());
}

LogicalResult FunctionPartitioner::addArguments() {
  for (BlockArgument argument : from.getArguments()) {
    FailureOr<Placement> placement = placementOfArgument(from, argument.getArgNumber(), mesh);
    if (failed(placement))
      return failure();
    auto global = cast<RankedTensorType>(argument.getType());
    Value local =
        to.getBody().front().addArgument(localType(global, *placement, mesh), argument.getLoc());
    values[argument] = {local, *placement};
  }
  return success();
}

void FunctionPartitioner::move(Value value, const Placement &placement) {
  Value local = localAs(value, placement);
  values[value] = {local, placement};
}

Value FunctionPartitioner::localAs(Value value, const Placement &placement) {
  return localAs(value, placement, roles.of(value));
}

Value FunctionPartitioner::localAs(Value value, const Placement &placement,
                                   graph::CollectiveRole role) {
  const PlacedValue &now = values.find(value)->second;
  return reshard(builder, value.getLoc(), now.local, cast<RankedTensorType>(value.getType()),
                 now.placement, placement, mesh, communication(builder.getContext(), role));
}

LogicalResult FunctionPartitioner::finish() {
  SmallVector<Value> results;
  for (auto [index, value] :
       llvm::enumerate(from.getBody().front().getTerminator()->getOperands())) {
    FailureOr<Placement> placement = placementOfResult(from, index, mesh);
    if (failed(placement))
      return failure();
    results.push_back(localAs(value, *placement));
  }
  graph::ReturnOp::create(builder, from.getLoc(), results);
  to.setFunctionType(FunctionType::get(to.getContext(), to.getBody().front().getArgumentTypes(),
                                       ValueRange(results).getTypes()));
  return success();
}

LogicalResult FunctionPartitioner::rewriteBody() {
  for (Operation &op : from.getBody().front().without_terminator())
    if (failed(rewrite(op)))
      return failure();
  return success();
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
    values[input.getResult()] = {builder.clone(op)->getResult(0), replicated(mesh)};
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
  values[get.getResult()] = {local.getResult(), placement};
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
    values[operand] = {local, parameter.inUse};
  }
}

LogicalResult FunctionPartitioner::rewriteCall(graph::CallOp call) {
  auto callee = module.lookupSymbol<graph::FuncOp>(call.getCallee());
  FailureOr<graph::FuncOp> block = resolve(callee);
  if (failed(block))
    return failure();
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(call.getOperands()))
    operands.push_back(localAs(operand, *placementOfArgument(callee, index, mesh)));
  auto local = graph::CallOp::create(builder, call.getLoc(), block->getResultTypes(),
                                     FlatSymbolRefAttr::get(block->getSymNameAttr()), operands,
                                     call.getInstanceAttr(), ArrayAttr(), ArrayAttr());
  for (auto [index, result] : llvm::enumerate(call.getResults()))
    values[result] = {local.getResult(index), *placementOfResult(callee, index, mesh)};
  return success();
}

// A maximum that is not finished can't become a part of a sum.
LogicalResult FunctionPartitioner::checkSums(Operation &op, ArrayRef<int> split) const {
  for (auto [axis, choice] : llvm::enumerate(split))
    for (Value operand : op.getOperands()) {
      const AxisPlacement &now = values.find(operand)->second.placement[axis];
      if (choice == split::kPartial && now.isPartial() && now.reduce != graph::ReduceKind::Sum)
        return op.emitOpError("has a maximum as operand that can't stay partial in a sum; "
                              "'op_splits' of the plan ask for it: plan this model again with "
                              "'dtc plan'");
    }
  return success();
}

LogicalResult FunctionPartitioner::rewriteByRule(Operation &op, graph::RuleOpInterface interface) {
  graph::OpRule rule = interface.getRule();
  FailureOr<OpSplit> split = readSplit(&op, rule, mesh);
  if (failed(split) || failed(checkSums(op, *split)))
    return failure();
  // What experts get and give travels for them, whichever op needs it brought there.
  std::optional<graph::CollectiveRole> role;
  if (!rule.capacityLoops.empty())
    role = graph::CollectiveRole::Expert;
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op.getOperands()))
    operands.push_back(
        localAs(operand, operandUnder(rule, index, *split), role.value_or(roles.of(operand))));
  SmallVector<Type> types;
  SmallVector<Placement> placements;
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    placements.push_back(resultUnder(rule, index, *split));
    types.push_back(localType(cast<RankedTensorType>(result.getType()), placements.back(), mesh));
  }
  OperationState state(op.getLoc(), op.getName(), operands, types, op.getAttrs());
  Operation *local = builder.create(state);
  local->removeAttr(kSplitsAttr);
  attachWindows(op, *local, rule, *split);
  for (auto [index, result] : llvm::enumerate(op.getResults()))
    values[result] = {local->getResult(index), placements[index]};
  return success();
}

// Tells an op whose result depends on global indices which part of its loops it has.
void FunctionPartitioner::attachWindows(Operation &op, Operation &local, const graph::OpRule &rule,
                                        ArrayRef<int> split) {
  SmallVector<Attribute> windows;
  for (unsigned loop : rule.indexedLoops) {
    Placement ofLoop = replicated(mesh);
    for (auto [axis, choice] : llvm::enumerate(split))
      if (choice == static_cast<int>(loop))
        ofLoop[axis] = AxisPlacement::shard(0);
    graph::DimSplit ofDim = graph::getDimSplit(ofLoop, mesh.sizes, 0);
    if (!ofDim.axes.empty())
      windows.push_back(graph::getWindow(op.getContext(), loop, ofDim, rule.loops[loop].size));
  }
  if (!windows.empty())
    local.setAttr("windows", builder.getArrayAttr(windows));
  if (auto random = dyn_cast<graph::RandomOpInterface>(local))
    random.becomePartOf(cast<RankedTensorType>(op.getResult(0).getType()).getShape());
}

} // namespace dtc
