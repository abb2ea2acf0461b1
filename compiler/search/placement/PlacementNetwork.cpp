// Builds the cost-function network of a step's placements.
#include "compiler/search/placement/PlacementNetwork.h"

#include "compiler/search/placement/AxisGroups.h"
#include "compiler/search/placement/StageCosts.h"
#include "passes/shard/StepMesh.h"
#include "passes/shard/TokenOrder.h"

#include <limits>

using namespace mlir;

namespace dtc {
namespace {

// Sums that are not finished are finished where they are.
Placement finished(Placement placement) {
  for (AxisPlacement &axis : placement)
    if (axis.isPartial())
      axis = AxisPlacement::replicate();
  return placement;
}

} // namespace

PlacementNetwork::PlacementNetwork(const PlacementProblem &problem)
    : module(problem.step), mesh(problem.mesh), sequenceParallel(problem.sequenceParallel),
      planned(problem.planned), costs(problem.costs), microBatches(problem.prices.microBatches),
      dataAxes(axesOfSamples(mesh)), contextAxes(mesh.axesOf(AxisRole::Context)),
      tensorAxes(mesh.axesOf(AxisRole::Tensor)), roles(module, graph::kMicrobatchFunction),
      weights(module), heads(module, mesh, weights), textbook(problem, roles, weights),
      opChoices(problem, roles, heads, textbook),
      parameterChoices(problem, weights, heads, textbook), network(problem) {}

LogicalResult PlacementNetwork::build() {
  auto microbatch = module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
  if (failed(placeInputs(microbatch)) || failed(enter(microbatch)))
    return failure();
  if (opChoices.isPlanned())
    for (const auto &[name, ops] : planned->functions)
      if (auto func = module.lookupSymbol<graph::FuncOp>(name); !func || !arguments.contains(func))
        return module.emitError("the plan's op_splits name the function '")
               << name
               << "', which the model's step does not have; plan this model again "
                  "with 'dtc plan'";
  // Parameters that nothing reads are somewhere, too.
  for (unsigned index = 0; index < weights.size(); ++index)
    if (failed(addClassNode(index)))
      return failure();
  return success();
}

LogicalResult PlacementNetwork::placeInputs(graph::FuncOp microbatch) {
  std::vector<PlacementNode> &list = arguments[microbatch];
  for (BlockArgument argument : microbatch.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    Placement placement = replicated(mesh);
    if (int64_t parts = ranksOf(dataAxes, mesh); type.getRank() > 0 && parts > 1) {
      if (type.getDimSize(0) % parts != 0)
        return microbatch.emitOpError("has a batch of ")
               << type.getDimSize(0) << " samples, which dp = " << parts << " does not divide";
      splitSamples(placement, 0);
    }
    if (failed(splitSequence(microbatch, argument, placement)))
      return failure();
    list.push_back(placementNodes[argument] = {-1, {placement}});
  }
  return success();
}

// Adds what the function does; its arguments have a place.
LogicalResult PlacementNetwork::enter(graph::FuncOp func, int64_t numCarried) {
  Uses uses;
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (auto get = dyn_cast<graph::GetOp>(op);
        get && module.lookupSymbol<graph::ParameterOp>(get.getSymbol())) {
      if (failed(addClassNode(*weights.of(get.getSymbol()))))
        return failure();
      placementNodes[get.getResult()] = nodeOfWeight(get.getResult());
    } else if (auto call = dyn_cast<graph::BlockCallOpInterface>(op)) {
      if (failed(addCall(call, uses)))
        return failure();
    } else if (auto interface = dyn_cast<graph::RuleOpInterface>(op)) {
      placeSum(&op);
      if (failed(addOp(&op, interface, uses)))
        return failure();
    } else {
      for (Value result : op.getResults()) // scalars of the run, state of the step
        placementNodes[result] = {-1, {replicated(mesh)}};
    }
  }
  if (failed(opChoices.checkAllPlanned(func)))
    return failure();
  if (func.getSymName() == graph::kMicrobatchFunction)
    leaveStep(func);
  else
    leaveBlock(func, numCarried, uses);
  for (const auto &[value, needs] : uses)
    network.connect(graph::tensorOf(value.getType()), placementNodes.lookup(value), needs,
                    mayMove(value));
  return success();
}

LogicalResult PlacementNetwork::addCall(graph::BlockCallOpInterface call, Uses &uses) {
  auto callee = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
  bool isNew = !arguments.contains(callee);
  if (isNew) {
    placeArguments(call, callee);
    if (failed(enter(callee, call.getNumCarried())))
      return failure();
    for (auto [argument, placementNode] : llvm::zip(callee.getArguments(), arguments[callee]))
      placementNode = placementNodes.lookup(argument); // the placement of a sum is only known now
  }
  for (auto [operand, placementNode] : llvm::zip(call->getOperands(), arguments[callee]))
    if (!weights.of(operand))
      use(uses, operand, placementNode);
  for (auto [index, result] : llvm::enumerate(call->getResults())) {
    placementNodes[result] = results[callee][index];
    if (callee.getResultAttr(index, graph::kSavedAttr))
      saved.insert(result);
  }
  return success();
}

// A term of the op's result beside `term`; null where there is none.
static Value otherTerm(graph::RuleOpInterface op, Value term) {
  graph::OpRule rule = op.getRule();
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (operand != term && rule.isTerm(index))
      return operand;
  return {};
}

// Returns true if a carried argument without samples is read by one op only, which adds a value to
// it for the result that carries it on.
bool PlacementNetwork::isSum(BlockArgument argument, graph::FuncOp callee) const {
  if (isActivation(argument) || !argument.hasOneUse())
    return false;
  Operation *adds = *argument.getUsers().begin();
  auto interface = dyn_cast<graph::RuleOpInterface>(adds);
  Operation *end = callee.getBody().front().getTerminator();
  return interface && otherTerm(interface, argument) && adds->hasOneUse() &&
         end->getOperand(argument.getArgNumber()) == adds->getResult(0);
}

void PlacementNetwork::placeArguments(graph::BlockCallOpInterface call, graph::FuncOp callee) {
  std::vector<PlacementNode> list;
  for (auto [argument, operand] : llvm::zip(callee.getArguments(), call->getOperands())) {
    PlacementNode placementNode{-1, {boundaryOf(argument)}};
    if (weights.of(argument)) {
      placementNode = nodeOfWeight(argument);
    } else if (saved.contains(operand)) {
      saved.insert(argument);
      placementNode = placementNodes.lookup(operand);
    }
    if (static_cast<int64_t>(list.size()) < call.getNumCarried() && isSum(argument, callee))
      sums.insert(argument);
    list.push_back(placementNodes[argument] = placementNode);
  }
  arguments[callee] = std::move(list);
}

// A sum is where the first op that adds to it has what it adds.
void PlacementNetwork::placeSum(Operation *op) {
  for (Value operand : op->getOperands())
    if (sums.contains(operand))
      placementNodes[operand] = PlacementNode(
          placementNodes.lookup(otherTerm(cast<graph::RuleOpInterface>(op), operand)));
}

void PlacementNetwork::leaveBlock(graph::FuncOp func, int64_t numCarried, Uses &uses) {
  std::vector<PlacementNode> list;
  for (auto [index, value] :
       llvm::enumerate(func.getBody().front().getTerminator()->getOperands())) {
    PlacementNode source = placementNodes.lookup(value);
    bool isSaved = static_cast<bool>(func.getResultAttr(index, graph::kSavedAttr));
    if (isSaved) {
      for (auto [choice, placement] : llvm::enumerate(source.placements)) {
        placement = finished(placement);
        if (source.node >= 0 && costs)
          network.addCost(
              {source.node, choice, costs->keptBytes(graph::tensorOf(value.getType()), placement)});
      }
      use(uses, value, source);
    } else if (static_cast<int64_t>(index) < numCarried) {
      source = placementNodes.lookup(func.getArgument(index));
      use(uses, value, source);
    } else if (isActivation(value)) {
      source = {-1, {boundaryOf(value)}};
      use(uses, value, source);
    }
    list.push_back(std::move(source));
  }
  results[func] = std::move(list);
}

void PlacementNetwork::leaveStep(graph::FuncOp microbatch) {
  std::vector<PlacementNode> list;
  for (auto [index, value] :
       llvm::enumerate(microbatch.getBody().front().getTerminator()->getOperands())) {
    auto symbol = microbatch.getResultAttrOfType<FlatSymbolRefAttr>(index, graph::kGradientOfAttr);
    std::optional<unsigned> parameter =
        symbol ? weights.of(symbol.getValue()) : std::optional<unsigned>();
    if (parameter && succeeded(addClassNode(*parameter)))
      network.connectGradient(graph::tensorOf(value.getType()), placementNodes.lookup(value),
                              classNodes[*parameter], mayMove(value));
    list.push_back(placementNodes.lookup(value));
  }
  results[microbatch] = std::move(list);
}

// Samples: what data parallelism splits.
bool PlacementNetwork::isActivation(Value value) const {
  return roles.bitsOf(value) & ScalesWithBatch;
}

void PlacementNetwork::splitSamples(Placement &placement, int64_t dim) const {
  for (unsigned axis : dataAxes)
    if (mesh.sizes[axis] > 1)
      placement[axis] = AxisPlacement::shard(dim);
}

// Ranks of context parallelism have parts of the sequence of an input that has one.
LogicalResult PlacementNetwork::splitSequence(graph::FuncOp microbatch, BlockArgument argument,
                                              Placement &placement) const {
  auto type = cast<RankedTensorType>(argument.getType());
  for (auto [dim, bits] : llvm::enumerate(roles.of(argument))) {
    int64_t parts = ranksOf(contextAxes, mesh), size = type.getDimSize(static_cast<int64_t>(dim));
    if (bits != ScalesWithSequence || parts == 1)
      continue;
    if (size % parts != 0)
      return microbatch.emitOpError("has sequences of ")
             << size << " tokens, which cp = " << parts << " does not divide";
    for (unsigned axis : contextAxes)
      placement[axis] = AxisPlacement::shard(static_cast<int64_t>(dim));
    break;
  }
  orderTokens(module, mesh, placement);
  return success();
}

Placement PlacementNetwork::boundaryOf(Value value) const {
  Placement placement = replicated(mesh);
  ArrayRef<uint8_t> dims = roles.of(value);
  auto dimOf = [&](auto matches) {
    return static_cast<int64_t>(llvm::find_if(dims, matches) - dims.begin());
  };
  int64_t numDims = static_cast<int64_t>(dims.size());
  int64_t samples = dimOf([](uint8_t bits) { return bits & ScalesWithBatch; });
  if (samples == numDims)
    return placement;
  splitSamples(placement, samples);
  int64_t sequence = dimOf([](uint8_t bits) { return bits == ScalesWithSequence; });
  int64_t channels = dimOf([](uint8_t bits) { return bits == DimRoles::kChannels; });
  for (unsigned axis : contextAxes)
    if (sequence < numDims)
      placement[axis] = AxisPlacement::shard(sequence);
  orderTokens(module, mesh, placement);
  if (sequenceParallel && sequence < numDims && channels < numDims)
    for (unsigned axis : tensorAxes)
      placement[axis] = AxisPlacement::shard(sequence);
  return placement;
}

FailureOr<PlacementNode> PlacementNetwork::addClassNode(unsigned weightClass) {
  auto [it, isNew] = classNodes.try_emplace(weightClass);
  if (!isNew)
    return it->second;
  FailureOr<std::vector<Placement>> placements = parameterChoices.of(weightClass);
  if (failed(placements))
    return failure();
  PlacementNode placementNode{network.addNode(placements->size()), std::move(*placements)};
  std::vector<bool> allowed = parameterChoices.allowed(weightClass, placementNode.placements);
  RankedTensorType type = weights[weightClass].type;
  bool isFrozen = llvm::all_of(weights[weightClass].parameters,
                               [](graph::ParameterOp parameter) { return parameter.getFrozen(); });
  for (auto [value, placement] : llvm::enumerate(placementNode.placements)) {
    if (!allowed[value])
      network.addCost(placementNode.node, value, std::numeric_limits<double>::infinity());
    if (costs && isFrozen)
      network.addCost({placementNode.node, value, /*keptBytes=*/0,
                       costs->frozenBytes(type, placement), /*seconds=*/0});
    else if (costs)
      network.addCost({placementNode.node, value, /*keptBytes=*/0,
                       costs->parameterBytes(type, placement),
                       costs->updateSeconds(type, placement) / microBatches});
  }
  return it->second = placementNode;
}

PlacementNode PlacementNetwork::nodeOfWeight(Value value) {
  return classNodes.at(*weights.of(value));
}

LogicalResult PlacementNetwork::addOp(Operation *op, graph::RuleOpInterface interface, Uses &uses) {
  graph::OpRule rule = interface.getRule();
  FailureOr<std::vector<OpSplit>> found = opChoices.of(op, rule, [&](Value operand, unsigned axis) {
    return placementNodes.find(operand)->second.placements.front()[axis];
  });
  if (failed(found))
    return failure();
  std::vector<OpSplit> splits = std::move(*found);
  if (opChoices.isPlanned()) // splits of a plan are checked before use
    for (const OpSplit &split : splits) {
      setSplit(op, split);
      if (failed(readSplit(op, rule, mesh)))
        return failure();
    }
  int node = network.addNode(splits.size());
  for (auto [value, split] : llvm::enumerate(splits))
    if (costs)
      network.addCost(node, value, secondsOfOp(op, rule, split, mesh, *costs));
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    PlacementNode placementNode{node, {}};
    for (const OpSplit &split : splits) {
      placementNode.placements.push_back(resultOf(op, rule, index, split, mesh));
      orderTokens(module, mesh, placementNode.placements.back());
    }
    placementNodes[result] = std::move(placementNode);
  }
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    PlacementNode need{node, {}};
    for (const OpSplit &split : splits) {
      need.placements.push_back(operandOf(op, rule, index, split, mesh));
      orderTokens(module, mesh, need.placements.back());
    }
    use(uses, operand, std::move(need));
  }
  ops[op] = {node, std::move(splits)};
  return success();
}

PlacedStep PlacementNetwork::decode(ArrayRef<int32_t> choice) const {
  PlacedStep step;
  for (const auto &[op, entry] : ops)
    step.ops[op] = entry.second[static_cast<size_t>(choice[static_cast<size_t>(entry.first)])];
  for (const auto &[index, placementNode] : classNodes)
    for (graph::ParameterOp parameter : weights[index].parameters)
      step.parameters[parameter.getSymName().str()] = chosen(placementNode, choice);
  auto choose = [&](const auto &from, auto &to) {
    for (const auto &[func, list] : from)
      for (const PlacementNode &placementNode : list)
        to[func].push_back(chosen(placementNode, choice));
  };
  choose(arguments, step.arguments);
  choose(results, step.results);
  // Gradients leave as they come but for splits that are not their parameter's.
  ModuleOp owner = module;
  auto microbatch = owner.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
  for (auto [index, placement] : llvm::enumerate(step.results[microbatch]))
    if (auto symbol =
            microbatch.getResultAttrOfType<FlatSymbolRefAttr>(index, graph::kGradientOfAttr)) {
      const Placement &parameter = step.parameters.at(symbol.getValue().str());
      for (auto [axis, wanted] : llvm::zip(placement, parameter))
        if (!axis.isPartial())
          axis = wanted;
    }
  return step;
}

} // namespace dtc
