// Rewrites the body of one function from the logical device to one rank.
#include "passes/shard/FunctionPartitioner.h"

#include "passes/shard/Reshard.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dtc {

Placement placementOfSymbol(ModuleOp module, StringRef symbol, const Mesh &mesh) {
  Operation *op = module.lookupSymbol(symbol);
  if (auto parameter = dyn_cast<graph::ParameterOp>(op))
    return fromAttr(parameter.getPlacementAttr(), mesh);
  return fromAttr(cast<graph::StateOp>(op).getPlacementAttr(), mesh);
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
                                         const Mesh &mesh, BlockResolver resolve)
    : module(module), from(from), to(to), mesh(mesh), resolve(std::move(resolve)),
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
  const PlacedValue &now = values.find(value)->second;
  return reshard(builder, value.getLoc(), now.local, cast<RankedTensorType>(value.getType()),
                 now.placement, placement, mesh);
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
  if (auto get = dyn_cast<graph::GetOp>(op)) {
    rewriteGet(get);
    return success();
  }
  if (auto set = dyn_cast<graph::SetOp>(op)) {
    Value local = localAs(set.getValue(), placementOfSymbol(module, set.getSymbol(), mesh));
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
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op.getOperands()))
    operands.push_back(localAs(operand, operandUnder(rule, index, *split)));
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
  for (auto [axis, loop] : llvm::enumerate(split)) {
    if (loop < 0 || !llvm::is_contained(rule.indexedLoops, static_cast<unsigned>(loop)))
      continue;
    int64_t global = rule.loops[loop].size;
    windows.push_back(graph::WindowAttr::get(op.getContext(), loop, mesh.names[axis],
                                             llvm::divideCeil(global, mesh.sizes[axis]), global));
  }
  if (!windows.empty())
    local.setAttr("windows", builder.getArrayAttr(windows));
  if (auto random = dyn_cast<graph::RandomOpInterface>(local))
    random.becomePartOf(cast<RankedTensorType>(op.getResult(0).getType()).getShape());
}

} // namespace dtc
