// Rewrites the body of one function from the logical device to one rank.
#include "passes/shard/FunctionPartitioner.h"

#include "dialects/graph/CompressionAttributes.h"
#include "dialects/graph/Context.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/ExchangeOps.h"
#include "dialects/graph/GradientType.h"
#include "dialects/graph/LayerwiseOps.h"
#include "dialects/graph/Placement.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/SlowLinkOps.h"
#include "dialects/graph/StateOps.h"
#include "dialects/graph/Unfinished.h"
#include "passes/shard/PlacedAttention.h"
#include "passes/shard/Reshard.h"
#include "passes/shard/RingAttention.h"
#include "passes/shard/SplitAttention.h"
#include "passes/shard/SplitQueries.h"
#include "passes/shard/StepMesh.h"
#include "passes/shard/TokenOrder.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace dtc {

Placement placementOfSymbol(const Stored &stored, StringRef symbol, const Mesh &mesh) {
  Operation *op = stored.at(symbol);
  if (auto parameter = dyn_cast<graph::ParameterOp>(op))
    return fromAttr(parameter.getPlacementAttr(), mesh);
  return fromAttr(cast<graph::StateOp>(op).getPlacementAttr(), mesh);
}

std::optional<Placement> placementInUse(const Stored &stored, StringRef symbol, const Mesh &mesh) {
  auto parameter = dyn_cast_or_null<graph::ParameterOp>(stored.at(symbol));
  if (!parameter || !parameter.getInUse() || *parameter.getInUse() == parameter.getPlacement())
    return std::nullopt;
  return fromAttr(*parameter.getInUse(), mesh);
}

// Returns the communication attribute of a role. Gradients and parameters are asynchronous:
// gradients are only read at the end of the step, parameters at their next use.
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

// Returns true if ranks have tokens of a function's arguments in zigzag order: so they do in all
// functions of a micro-batch. An update splits parameters along the same axes, in one piece.
static bool hasZigzagTokens(graph::FuncOp from) {
  for (unsigned index = 0; index < from.getNumArguments(); ++index)
    if (auto of = from.getArgAttrOfType<graph::PlacementAttr>(index, kPlacementAttr);
        of && llvm::any_of(of.getAxes(), [](const AxisPlacement &axis) { return axis.zigzag; }))
      return true;
  return false;
}

FunctionPartitioner::FunctionPartitioner(ModuleOp module, graph::FuncOp from, graph::FuncOp to,
                                         const Mesh &mesh, const Stored &stored,
                                         const ValueRoles &roles, BlockSource &blocks)
    : module(module), from(from), to(to), mesh(mesh), stored(stored), roles(roles), blocks(blocks),
      isZigzag(hasZigzagTokens(from)), builder(to.getContext()) {
  builder.setInsertionPointToEnd(&to.getBody().front());
}

LogicalResult FunctionPartitioner::addArguments(const RestingArguments &restingArguments) {
  for (BlockArgument argument : from.getArguments()) {
    unsigned index = argument.getArgNumber();
    FailureOr<Placement> placement = placementOfArgument(from, index, mesh);
    if (failed(placement))
      return failure();
    if (index < restingArguments.size() && restingArguments[index])
      placement = restingArguments[index]->atRest;
    Value local = to.getBody().front().addArgument(localType(argument.getType(), *placement, mesh),
                                                   argument.getLoc());
    values[argument] = {local, *placement};
    if (index < restingArguments.size() && restingArguments[index])
      resting[argument] = {local, *restingArguments[index]};
  }
  return success();
}

void FunctionPartitioner::move(ArrayRef<Move> moves) {
  llvm::MapVector<int64_t, SmallVector<Move>> stacks; // keyed by the number of entries
  for (const Move &move : moves) {
    if (auto stack = dyn_cast<graph::StackType>(move.value.getType())) {
      if (values.find(move.value)->second.placement != move.to)
        stacks[stack.getCount()].push_back(move);
      continue;
    }
    Value local = localAs(move.value, move.to);
    values[move.value] = {local, move.to};
  }
  for (const auto &[count, together] : stacks)
    for (auto [move, local] :
         llvm::zip(together, moveStacks(together, roles.of(together.front().value))))
      values[move.value] = {local, move.to};
}

// Returns a placement with tokens in the order that ranks have them in.
Placement FunctionPartitioner::inOrder(Placement placement) const {
  if (isZigzag)
    orderTokens(from, mesh, placement);
  return placement;
}

Placement FunctionPartitioner::ofOperand(Operation &op, const graph::OpRule &rule, size_t operand,
                                         ArrayRef<int> split) const {
  return inOrder(operandOf(&op, rule, operand, split, mesh));
}

Placement FunctionPartitioner::ofResult(Operation &op, const graph::OpRule &rule, size_t result,
                                        ArrayRef<int> split) const {
  return inOrder(resultOf(&op, rule, result, split, mesh));
}

// Checks that ranks whose tokens are in zigzag order have as many in both runs: what is padded has
// one run.
LogicalResult FunctionPartitioner::checkRuns(Operation &op, Value value,
                                             const Placement &placement) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  for (int64_t dim = 0; isZigzag && type && dim < type.getRank(); ++dim) {
    graph::DimSplit split = graph::getDimSplit(placement, mesh.sizes, dim);
    if (split.zigzag >= 0 && type.getDimSize(dim) % (split.parts * split.pieces) != 0)
      return op.emitOpError("can't split dim ")
             << dim << " of " << type << " into " << split.parts * split.pieces
             << " equal runs of tokens in zigzag order; use another tp or cp";
  }
  return success();
}

Value FunctionPartitioner::localAs(Value value, const Placement &placement) {
  return localAs(value, placement, roles.of(value));
}

Value FunctionPartitioner::localAs(Value value, const Placement &placement,
                                   graph::CollectiveRole role) {
  const PlacedValue &now = values.find(value)->second;
  if (now.placement == placement)
    return now.local;
  if (isa<graph::StackType>(value.getType()))
    return moveStacks({{value, placement}}, role).front();
  return moved(builder, now, cast<RankedTensorType>(value.getType()), placement, role);
}

// Records the sums of which the results of an op are partial (kUnfinishedAttr).
static void markUnfinished(Operation *local, ArrayRef<Placement> placements) {
  SmallVector<int64_t> axes;
  for (const Placement &placement : placements) {
    axes.push_back(0);
    for (auto [axis, now] : llvm::enumerate(placement))
      if (now.isPartial())
        axes.back() |= int64_t(1) << axis;
  }
  if (llvm::any_of(axes, [](int64_t each) { return each != 0; }))
    local->setAttr(graph::kUnfinishedAttr, DenseI64ArrayAttr::get(local->getContext(), axes));
}

// Returns the type in which the module reduces gradients; null if that is their own.
static FloatType typeOfReductions(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>(graph::kGradDtypeAttr);
  if (!name)
    return nullptr;
  switch (*gradientTypeFrom(name.getValue())) { // the dialect has verified the attribute
  case GradientType::F32:
    return nullptr;
  case GradientType::BF16:
    return BFloat16Type::get(module.getContext());
  case GradientType::F16:
    return Float16Type::get(module.getContext());
  }
  llvm_unreachable("all gradient types have an element type");
}

// Moves a tensor to placement `to`. Gradients are first rounded to the type in which the module
// reduces them.
Value FunctionPartitioner::moved(OpBuilder &at, const PlacedValue &value, RankedTensorType global,
                                 const Placement &to, graph::CollectiveRole role) const {
  Location loc = value.local.getLoc();
  auto as = [&](Value from, Type element) -> Value {
    return graph::CastOp::create(at, loc, cast<RankedTensorType>(from.getType()).clone(element),
                                 from);
  };
  auto move = [&](Value local, RankedTensorType type) {
    return reshard(at, loc, local, type, value.placement, to, mesh,
                   communication(at.getContext(), role));
  };
  bool addsUp = llvm::any_of(llvm::zip(value.placement, to), [](auto axis) {
    return std::get<0>(axis).isPartial() && !std::get<1>(axis).isPartial();
  });
  FloatType narrow =
      role == graph::CollectiveRole::Gradient && addsUp ? typeOfReductions(module) : FloatType();
  if (!narrow)
    return move(value.local, global);
  Value rounded = as(value.local, narrow);
  markUnfinished(rounded.getDefiningOp(), value.placement);
  return as(move(rounded, global.clone(narrow)), global.getElementType());
}

// Moves stacks by a repeat over a block that moves one entry of each stack: it executes as many
// collectives as there are entries, grouped by entry.
SmallVector<Value> FunctionPartitioner::moveStacks(ArrayRef<Move> moves,
                                                   graph::CollectiveRole role) {
  Location loc = moves.front().value.getLoc();
  graph::FuncOp block = blocks.create(loc, "move");
  Block &body = block.getBody().front();
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  SmallVector<Value> operands, results;
  SmallVector<Type> types;
  for (const Move &move : moves) {
    const PlacedValue &now = values.find(move.value)->second;
    RankedTensorType global = graph::tensorOf(move.value.getType());
    Value entry = body.addArgument(graph::tensorOf(now.local.getType()), move.value.getLoc());
    operands.push_back(now.local);
    results.push_back(moved(inside, {entry, now.placement}, global, move.to, role));
    types.push_back(localType(move.value.getType(), move.to, mesh));
  }
  graph::ReturnOp::create(inside, loc, results);
  block.setFunctionType(FunctionType::get(builder.getContext(), body.getArgumentTypes(),
                                          ValueRange(results).getTypes()));
  int64_t count = cast<graph::StackType>(types.front()).getCount();
  auto repeat = graph::RepeatOp::create(builder, loc, types, count,
                                        FlatSymbolRefAttr::get(block.getSymNameAttr()), operands,
                                        /*carrying=*/0, /*reversed=*/false, /*instance=*/0);
  return SmallVector<Value>(repeat.getResults());
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
  auto call = dyn_cast<graph::BlockCallOpInterface>(op);
  if (!call)
    gatherOperands(op);
  if (auto get = dyn_cast<graph::GetOp>(op)) {
    rewriteGet(get);
    return success();
  }
  if (auto set = dyn_cast<graph::SetOp>(op)) {
    Value local = localAs(set.getValue(), placementOfSymbol(stored, set.getSymbol(), mesh),
                          graph::CollectiveRole::Parameter);
    graph::SetOp::create(builder, set.getLoc(), set.getSymbolAttr(), local);
    return success();
  }
  if (auto input = dyn_cast<graph::InputOp>(op)) {
    values[input.getResult()] = {builder.clone(op)->getResult(0), replicated(mesh)};
    return success();
  }
  if (call)
    return rewriteCall(call);
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  if (!interface)
    return op.emitOpError("has no sharding rule, so it can't be partitioned");
  return rewriteByRule(op, interface);
}

void FunctionPartitioner::rewriteGet(graph::GetOp get) {
  Placement placement = placementOfSymbol(stored, get.getSymbol(), mesh);
  auto local = graph::GetOp::create(builder, get.getLoc(),
                                    localType(get.getType(), placement, mesh), get.getSymbolAttr());
  values[get.getResult()] = {local.getResult(), placement};
  std::optional<Placement> inUse = placementInUse(stored, get.getSymbol(), mesh);
  if (inUse && gathersForUses)
    resting[get.getResult()] = {local.getResult(), {placement, *inUse}};
}

// Gathers parameters for each use and in each block anew, so that no rank keeps a whole one from
// one use to the next.
void FunctionPartitioner::gatherOperands(Operation &op) {
  llvm::SmallPtrSet<Value, 4> done;
  for (Value operand : op.getOperands()) {
    auto found = resting.find(operand);
    if (found == resting.end() || !done.insert(operand).second ||
        (from.isPrivate() && !gathered.insert(operand).second))
      continue;
    RestingPlacement &placement = found->second.placement;
    Value local = reshard(
        builder, op.getLoc(), found->second.local, cast<RankedTensorType>(operand.getType()),
        placement.atRest, placement.inUse, mesh,
        communication(builder.getContext(), graph::CollectiveRole::Parameter, ++*placement.uses));
    values[operand] = {local, placement.inUse};
  }
}

LogicalResult FunctionPartitioner::rewriteCall(graph::BlockCallOpInterface call) {
  auto callee = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
  RestingArguments restingArguments;
  for (Value operand : call->getOperands()) {
    auto found = resting.find(operand);
    restingArguments.push_back(found == resting.end() ? std::optional<RestingPlacement>()
                                                      : std::optional(found->second.placement));
  }
  FailureOr<graph::FuncOp> block = blocks.resolve(callee, restingArguments);
  if (failed(block))
    return failure();
  OperationState state(call.getLoc(), call->getName());
  state.addAttributes(call->getAttrs());
  for (auto [index, operand] : llvm::enumerate(call->getOperands()))
    state.operands.push_back(restingArguments[index]
                                 ? resting.find(operand)->second.local
                                 : localAs(operand, *placementOfArgument(callee, index, mesh)));
  for (auto [index, result] : llvm::enumerate(call->getResults()))
    state.types.push_back(
        localType(result.getType(), *placementOfResult(callee, index, mesh), mesh));
  Operation *local = builder.create(state);
  cast<graph::BlockCallOpInterface>(local).setBlockAttr(
      FlatSymbolRefAttr::get(block->getSymNameAttr()));
  for (auto [index, result] : llvm::enumerate(call->getResults()))
    values[result] = {local->getResult(index), *placementOfResult(callee, index, mesh)};
  return success();
}

// Fails if a maximum that is not finished would become a term of a sum.
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

// Fails if samples would move between ranks of dp: this happens if other axes split them further
// and unevenly, so that padding shifts them.
LogicalResult FunctionPartitioner::checkSamples(Operation &op, const graph::OpRule &rule,
                                                ArrayRef<int> split) const {
  SmallVector<unsigned, 2> data = axesOfSamples(mesh);
  bool isOfSamples = llvm::any_of(op.getOperands(), [&](Value operand) {
    return roles.of(operand) == graph::CollectiveRole::Activation;
  });
  if (data.empty() || split[data.front()] < 0 || !isOfSamples)
    return success();
  int loop = split[data.front()];
  int64_t parts = 1;
  bool isOfOthers = false;
  for (auto [axis, choice] : llvm::enumerate(split))
    if (choice == loop) {
      parts *= mesh.sizes[axis];
      isOfOthers |= !llvm::is_contained(data, axis);
    }
  int64_t size = rule.loops[static_cast<size_t>(loop)].size;
  if (!isOfOthers || ShapedType::isDynamic(size) || size % parts == 0)
    return success();
  return op.emitOpError("is split into ")
         << parts << " parts along its " << size
         << " samples, for which they would have to leave their ranks of data parallelism; "
            "'op_splits' of the plan ask for it: plan this model again with 'dtc plan'";
}

constexpr int64_t kTokensDim = 1; // of queries, keys and values

static bool isQueries(const graph::OpRule &rule, int choice) {
  return rule.kind == graph::OpKind::Attention && choice >= 0 &&
         rule.productLoops[static_cast<size_t>(choice)] == graph::ProductLoop::M;
}

static bool splitsQueries(const graph::OpRule &rule, ArrayRef<int> split) {
  return llvm::any_of(split, [&](int choice) { return isQueries(rule, choice); });
}

// Returns true if the keys and values of attention pass from rank to rank.
static bool passesKeys(Operation &op) { return graph::keyTravelOf(&op) == graph::KeyTravel::Ring; }

// Fails for attention whose queries no rank can have a part of.
static LogicalResult checkSplitQueries(Operation *op) {
  graph::KeyTravel travel = graph::keyTravelOf(op).value_or(graph::KeyTravel::Gather);
  std::string why = whyQueriesAreWhole(op, travel);
  if (why.empty())
    return success();
  return op->emitOpError(why) << ", which dtc can't compile with cp_kind="
                              << (travel == graph::KeyTravel::Ring ? "ring" : "all-gather")
                              << " yet; plan with --fix cp_kind=all-to-all";
}

// True for a transpose that leaves a rank's elements in their order: it moves only dims of size 1.
static bool isLocalReshape(Operation &op, ArrayRef<Type> types) {
  auto transpose = dyn_cast<graph::TransposeOp>(op);
  if (!transpose)
    return false;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(types[0]).getShape();
  int64_t last = -1;
  for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
    if (shape[dim] != 1 && std::exchange(last, from) > from)
      return false;
  return true;
}

// True if all ranks of data parallelism need a sum over their samples: a statistic of the batch. It
// may be a gradient too, which is then needed in the middle of a step, not at its end.
bool FunctionPartitioner::isOfBatch(Value value, const Placement &to) const {
  const Placement &now = values.find(value)->second.placement;
  if (Operation *made = value.getDefiningOp(); made && made->hasAttr(graph::kExchangedAttr))
    return false; // what '@update' makes of a gradient is sent as it
  return llvm::any_of(axesOfSamples(mesh), [&](unsigned axis) {
    return now[axis].isPartial() && to[axis].isReplicate();
  });
}

LogicalResult FunctionPartitioner::rewriteByRule(Operation &op, graph::RuleOpInterface interface) {
  graph::OpRule rule = interface.getRule();
  FailureOr<OpSplit> split = readSplit(&op, rule, mesh);
  if (failed(split) || failed(checkSums(op, *split)) || failed(checkSamples(op, rule, *split)))
    return failure();
  if (splitsQueries(rule, *split))
    if (LogicalResult possible = checkSplitQueries(&op);
        failed(possible) || rule.isCausal || passesKeys(op) || PlacedAttention::isFor(&op))
      return failed(possible) ? failure() : rewriteSplitAttention(op, rule, *split);
  // Gives the collectives of the operands the role of experts if the op has a loop over the
  // capacity of experts: these tensors are the inputs or results of experts, whichever op causes
  // the move.
  std::optional<graph::CollectiveRole> role;
  bool isOfExperts = isa<graph::ExchangeOp>(op) && mesh.axesOf(AxisRole::Context).empty();
  if (!rule.capacityLoops.empty() || isOfExperts)
    role = graph::CollectiveRole::Expert;
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    Placement to = ofOperand(op, rule, index, *split);
    if (failed(checkRuns(op, operand, to)))
      return failure();
    operands.push_back(localAs(operand, to,
                               role                     ? *role
                               : isOfBatch(operand, to) ? graph::CollectiveRole::Control
                                                        : roles.of(operand)));
  }
  SmallVector<Type> types;
  SmallVector<Placement> placements;
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    placements.push_back(ofResult(op, rule, index, *split));
    if (failed(checkRuns(op, result, placements.back())))
      return failure();
    types.push_back(localType(cast<RankedTensorType>(result.getType()), placements.back(), mesh));
  }
  if (isa<graph::FinishOp, graph::ExchangeOp, graph::WholeMatrixOp>(op)) {
    values[op.getResult(0)] = {operands[0], placements[0]};
    return success();
  }
  if (isa<graph::AddendsOp>(op) || isLocalReshape(op, types)) {
    values[op.getResult(0)] = {
        graph::ReshapeOp::create(builder, op.getLoc(), types[0], operands[0]), placements[0]};
    return success();
  }
  OperationState state(op.getLoc(), op.getName(), operands, types, op.getAttrs());
  Operation *local = builder.create(state);
  local->removeAttr(kSplitsAttr);
  markUnfinished(local, placements);
  attachWindows(op, *local, rule, *split);
  for (auto [index, result] : llvm::enumerate(op.getResults()))
    values[result] = {local->getResult(index), placements[index]};
  return success();
}

namespace {
// The operands of attention and of its gradient.
constexpr unsigned kQuery = 0, kKey = 1, kValue = 2, kOut = 3, kLse = 4, kDout = 5, kDlse = 6;
} // namespace

// Attention whose queries are split becomes several: of keys that the rank has and of all of them
// (SplitAttention), of all of them by their positions (PlacedAttention), or of those that pass by
// (RingAttention). Gradients of keys and values that other ranks own are added up where these are.
LogicalResult FunctionPartitioner::rewriteSplitAttention(Operation &op, const graph::OpRule &rule,
                                                         ArrayRef<int> split) {
  Placement ofQueries = replicated(mesh);
  for (auto [axis, choice] : llvm::enumerate(split))
    if (isQueries(rule, choice))
      ofQueries[axis] = AxisPlacement::shard(0);
  ofQueries = inOrder(ofQueries);
  auto owned = [&](Placement placement) {
    for (auto [axis, now] : llvm::enumerate(placement))
      if (ofQueries[axis].isShard())
        now = AxisPlacement::shard(kTokensDim);
    return inOrder(placement);
  };
  auto local = [&](unsigned index) {
    return localAs(op.getOperand(index), ofOperand(op, rule, index, split));
  };
  auto ownOf = [&](unsigned index) {
    return localAs(op.getOperand(index), owned(ofOperand(op, rule, index, split)));
  };
  graph::DimSplit tokens = graph::getDimSplit(ofQueries, mesh.sizes, /*dim=*/0);
  SmallVector<Placement> placements, ofOwn;
  for (unsigned index = 0; index < op.getNumResults(); ++index)
    placements.push_back(ofResult(op, rule, index, split));
  llvm::transform(placements, std::back_inserter(ofOwn), owned);
  auto set = [&](unsigned index, Value value, const Placement &placement) {
    values[op.getResult(index)] = {value, placement};
  };
  auto mark = [](const AttentionParts::Sum &sum, const Placement &placement) {
    for (Operation *each : sum.ops)
      markUnfinished(each, placement);
  };
  // Returns the rank's part of an optional operand, which may not be there.
  auto optional = [&](MutableOperandRange operand) {
    return operand.empty() ? Value() : local(operand[0].getOperandNumber());
  };
  auto sinks = [&](graph::AttentionOp attention) { return optional(attention.getSinksMutable()); };
  auto scores = [&](auto attention) -> AttentionParts::Scores {
    return {optional(attention.getLengthsMutable()), optional(attention.getSlopesMutable())};
  };
  auto grad = dyn_cast<graph::AttentionGradOp>(op);
  auto saved = [&]() -> AttentionParts::Saved {
    return {local(kQuery), local(kOut), local(kLse), local(kDout),
            grad.getDlse() ? local(kDlse) : Value()};
  };
  if (passesKeys(op)) {
    RingAttention attention(builder, op.getLoc(), mesh, tokens.axes.front(), tokens);
    RingAttention::Keys keys{ownOf(kKey), ownOf(kValue)};
    if (auto forward = dyn_cast<graph::AttentionOp>(op)) {
      auto [out, lse] =
          attention.forward(forward, local(kQuery), sinks(forward), keys, scores(forward));
      set(0, out, placements[0]);
      set(1, lse, placements[1]);
      return success();
    }
    RingAttention::Gradients made = attention.backward(grad, saved(), keys, scores(grad));
    for (graph::AttentionGradOp step : made.steps)
      markUnfinished(step, ofOwn);
    mark(made.dk, ofOwn[kKey]);
    mark(made.dv, ofOwn[kValue]);
    set(0, made.dq, placements[0]);
    set(kKey, made.dk.value, ofOwn[kKey]);
    set(kValue, made.dv.value, ofOwn[kValue]);
    return success();
  }
  if (PlacedAttention::isFor(&op)) {
    PlacedAttention attention(builder, op.getLoc(), tokens);
    if (auto forward = dyn_cast<graph::AttentionOp>(op)) {
      auto [out, lse] = attention.forward(forward, local(kQuery), local(kKey), local(kValue),
                                          sinks(forward), scores(forward));
      set(0, out, placements[0]);
      set(1, lse, placements[1]);
      return success();
    }
    PlacedAttention::Gradients made =
        attention.backward(grad, saved(), local(kKey), local(kValue), scores(grad));
    for (graph::AttentionGradOp run : made.runs)
      markUnfinished(run, placements);
    mark(made.dk, placements[kKey]);
    mark(made.dv, placements[kValue]);
    set(0, made.dq, placements[0]);
    set(kKey, made.dk.value, placements[kKey]);
    set(kValue, made.dv.value, placements[kValue]);
    return success();
  }
  SplitAttention attention(builder, op.getLoc(), tokens);
  SplitAttention::Keys keys{local(kKey), local(kValue), ownOf(kKey), ownOf(kValue)};
  if (auto forward = dyn_cast<graph::AttentionOp>(op)) {
    auto [out, lse] = attention.forward(forward, local(kQuery), sinks(forward), keys);
    set(0, out, placements[0]);
    set(1, lse, placements[1]);
    return success();
  }
  SplitAttention::Gradients made = attention.backward(grad, saved(), keys);
  for (graph::AttentionGradOp before : made.before)
    markUnfinished(before, placements);
  mark(made.dk, placements[kKey]);
  mark(made.dv, placements[kValue]);
  markUnfinished(made.own, ofOwn);
  set(0, made.dq, placements[0]);
  for (auto [index, sum, own] :
       {std::tuple(kKey, &made.dk, made.ownDk), std::tuple(kValue, &made.dv, made.ownDv)}) {
    Value rest = moved(builder, {sum->value, placements[index]},
                       cast<RankedTensorType>(op.getResult(index).getType()), ofOwn[index],
                       graph::CollectiveRole::Activation);
    auto both = graph::AddOp::create(builder, op.getLoc(), cast<RankedTensorType>(own.getType()),
                                     own, rest);
    markUnfinished(both, ofOwn[index]);
    set(index, both, ofOwn[index]);
  }
  return success();
}

// Attaches the windows of an op's loops on this rank, if its result depends on global indices.
void FunctionPartitioner::attachWindows(Operation &op, Operation &local, const graph::OpRule &rule,
                                        ArrayRef<int> split) {
  SmallVector<Attribute> windows;
  for (unsigned loop : rule.indexedLoops) {
    Placement ofLoop = replicated(mesh);
    for (auto [axis, choice] : llvm::enumerate(split))
      if (choice == static_cast<int>(loop))
        ofLoop[axis] = AxisPlacement::shard(0);
    orderHeads(&op, mesh, ofLoop);
    ofLoop = inOrder(ofLoop);
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
