// Builds the cost-function network of a block's placements.
#include "compiler/placement/PlacementNetwork.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;

namespace dtc {
namespace {

// The solver counts in whole tenths of a nanosecond.
constexpr double kUnitsPerSecond = 1e10;
// Beyond so many placements a tensor's copies are not counted as sets.
constexpr size_t kMostTargets = 5;

int64_t units(double seconds) {
  return std::isfinite(seconds) ? std::llround(seconds * kUnitsPerSecond) : solver::kInfiniteCost;
}

graph::GetOp getOf(Value value) { return value.getDefiningOp<graph::GetOp>(); }

// The parameter whose gradient `value` of '@microbatch' is.
FlatSymbolRefAttr gradientOf(Value value) {
  if (!value.hasOneUse())
    return {};
  OpOperand &use = *value.getUses().begin();
  auto func = dyn_cast<graph::FuncOp>(use.getOwner()->getParentOp());
  if (!func || !use.getOwner()->hasTrait<OpTrait::IsTerminator>())
    return {};
  return func.getResultAttrOfType<FlatSymbolRefAttr>(use.getOperandNumber(),
                                                     graph::kGradientOfAttr);
}

} // namespace

AxisPlacement PlacementNetwork::boundaryOf(Value value) const {
  bool isActivation =
      costs.hasSamples(value) && cast<RankedTensorType>(value.getType()).getRank() >= 3;
  return isActivation && sequenceParallel ? AxisPlacement::shard(1) : AxisPlacement::replicate();
}

int PlacementNetwork::addNode(size_t values) {
  solver::ProblemNode node;
  node.costs.assign(values, 0);
  node.usages.assign(values, 0);
  network.nodes.push_back(std::move(node));
  return static_cast<int>(network.nodes.size()) - 1;
}

void PlacementNetwork::addCost(int node, size_t value, double cost) {
  int64_t &entry = network.nodes[static_cast<size_t>(node)].costs[value];
  entry = std::min(solver::kInfiniteCost, entry + units(cost));
}

void PlacementNetwork::addEdge(int a, int b, std::vector<int64_t> table) {
  if (llvm::all_of(table, [](int64_t cost) { return cost == 0; }))
    return;
  network.edges.push_back({a, b, static_cast<int32_t>(network.tables.size())});
  network.tables.push_back(std::move(table));
}

PlacementNetwork::Place PlacementNetwork::parameterOf(graph::GetOp get) {
  auto [it, isNew] = parameters.try_emplace(get.getSymbol().str());
  if (!isNew)
    return it->second;
  auto type = cast<RankedTensorType>(get.getType());
  Place place;
  place.placements.push_back(AxisPlacement::replicate());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.getDimSize(dim) >= costs.parts())
      place.placements.push_back(AxisPlacement::shard(dim));
  place.node = addNode(place.placements.size());
  for (auto [value, placement] : llvm::enumerate(place.placements))
    addCost(place.node, value,
            prices.secondsPerParameterByte * costs.parameterBytes(type, placement) +
                costs.updateSeconds(type, placement) / prices.microBatches);
  return it->second = place;
}

void PlacementNetwork::addOps(graph::FuncOp func, Uses &uses) {
  for (Operation &op : func.getBody().front().without_terminator()) {
    auto interface = dyn_cast<graph::RuleOpInterface>(op);
    if (!interface)
      continue;
    graph::OpRule rule = interface.getRule();
    std::vector<int> choices = costs.choicesOf(&op, rule);
    int node = addNode(choices.size());
    for (auto [value, choice] : llvm::enumerate(choices))
      addCost(node, value, costs.opSeconds(&op, rule, choice));
    for (auto [index, result] : llvm::enumerate(op.getResults())) {
      Place place{node, {}};
      for (int choice : choices)
        place.placements.push_back(resultUnder(rule, index, choice));
      places[result] = place;
    }
    for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
      Place need{node, {}};
      for (int choice : choices)
        need.placements.push_back(operandUnder(rule, index, choice));
      use(uses, operand, need);
    }
    ops[&op] = {node, std::move(choices)};
  }
}

void PlacementNetwork::connectOne(Type type, const Place &source, const Place &need) {
  if (source.node == need.node && source.node >= 0)
    return;
  if (source.node < 0 || need.node < 0) {
    int node = std::max(source.node, need.node);
    if (node < 0)
      return;
    for (size_t value = 0; value < network.nodes[static_cast<size_t>(node)].costs.size(); ++value)
      addCost(node, value,
              seconds(type, source.placements[source.node < 0 ? 0 : value],
                      need.placements[need.node < 0 ? 0 : value]));
    return;
  }
  std::vector<int64_t> table;
  for (const AxisPlacement &from : source.placements)
    for (const AxisPlacement &to : need.placements)
      table.push_back(units(seconds(type, from, to)));
  addEdge(source.node, need.node, std::move(table));
}

void PlacementNetwork::connectThroughCopies(Type type, const Place &source, ArrayRef<Place> needs,
                                            ArrayRef<AxisPlacement> targets) {
  size_t sets = size_t(1) << targets.size();
  Place copies{addNode(sets), {}};
  auto setSeconds = [&](const AxisPlacement &from, size_t set) {
    double sum = 0;
    for (auto [bit, target] : llvm::enumerate(targets))
      if (set >> bit & 1)
        sum += seconds(type, from, target);
    return sum;
  };
  if (source.node < 0)
    for (size_t set = 0; set < sets; ++set)
      addCost(copies.node, set, setSeconds(source.placements[0], set));
  else {
    std::vector<int64_t> table;
    for (const AxisPlacement &from : source.placements)
      for (size_t set = 0; set < sets; ++set)
        table.push_back(units(setSeconds(from, set)));
    addEdge(source.node, copies.node, std::move(table));
  }
  for (const Place &need : needs) {
    auto has = [&](size_t set, const AxisPlacement &placement) {
      return set >> (llvm::find(targets, placement) - targets.begin()) & 1;
    };
    if (need.node < 0) {
      for (size_t set = 0; set < sets; ++set)
        if (!has(set, need.placements[0]))
          addCost(copies.node, set, std::numeric_limits<double>::infinity());
      continue;
    }
    std::vector<int64_t> table;
    for (size_t set = 0; set < sets; ++set)
      for (const AxisPlacement &placement : need.placements)
        table.push_back(has(set, placement) ? 0 : solver::kInfiniteCost);
    addEdge(copies.node, need.node, std::move(table));
  }
}

void PlacementNetwork::connect(const Uses &uses) {
  for (const auto &[value, needs] : uses) {
    auto it = places.find(value);
    if (it == places.end())
      continue;
    const Place &source = it->second;
    SmallVector<AxisPlacement> targets;
    for (const Place &need : needs)
      for (const AxisPlacement &placement : need.placements)
        if (!llvm::is_contained(targets, placement))
          targets.push_back(placement);
    if (needs.size() > 1 && targets.size() <= kMostTargets)
      connectThroughCopies(value.getType(), source, needs, targets);
    else
      for (const Place &need : needs)
        connectOne(value.getType(), source, need);
  }
}

void PlacementNetwork::require(Value value, const AxisPlacement &placement) {
  auto it = places.find(value);
  if (it == places.end() || it->second.node < 0)
    return;
  for (auto [index, now] : llvm::enumerate(it->second.placements))
    if (!(now == placement))
      addCost(it->second.node, index, std::numeric_limits<double>::infinity());
}

void PlacementNetwork::keep(Value value) {
  auto it = places.find(value);
  if (it == places.end() || it->second.node < 0 || isa<BlockArgument>(value))
    return;
  for (auto [index, placement] : llvm::enumerate(it->second.placements))
    addCost(it->second.node, index,
            // A sum that is not finished would be finished on its way.
            placement.isPartial()
                ? std::numeric_limits<double>::infinity()
                : prices.secondsPerKeptByte * costs.keptBytes(value.getType(), placement));
}

// Sums over tensor parallelism are finished once a step; anything else is moved every micro-batch.
void PlacementNetwork::returnGradient(Value value, graph::GetOp get) {
  Place source = places.lookup(value), target = parameterOf(get);
  if (source.node < 0)
    return;
  std::vector<int64_t> table;
  for (const AxisPlacement &from : source.placements)
    for (const AxisPlacement &to : target.placements)
      table.push_back(
          units(seconds(value.getType(), from, to) / (from.isPartial() ? prices.microBatches : 1)));
  addEdge(source.node, target.node, std::move(table));
}

bool PlacementNetwork::addBlock(ModuleOp module, graph::CallOp forward, graph::CallOp backward) {
  auto forwardFunc = module.lookupSymbol<graph::FuncOp>(forward.getCallee());
  auto backwardFunc = module.lookupSymbol<graph::FuncOp>(backward.getCallee());
  for (graph::FuncOp func : {forwardFunc, backwardFunc})
    if (!func.getBody().getOps<graph::CallOp>().empty())
      return false;
  auto declare = [&](Value argument, Value operand) {
    if (auto get = getOf(operand))
      places[argument] = parameterOf(get);
    else
      places[argument] = {-1, {boundaryOf(argument)}};
  };
  for (auto [argument, operand] : llvm::zip(forwardFunc.getArguments(), forward.getOperands()))
    declare(argument, operand);
  Uses forwardUses, backwardUses;
  addOps(forwardFunc, forwardUses);
  Operation *forwardEnd = forwardFunc.getBody().front().getTerminator();
  for (auto [index, result] : llvm::enumerate(forward.getResults())) {
    bool isKept = llvm::is_contained(result.getUsers(), backward.getOperation());
    bool isRead =
        llvm::any_of(result.getUsers(), [&](Operation *user) { return user != backward; });
    if (isKept)
      keep(forwardEnd->getOperand(index));
    if (isRead)
      require(forwardEnd->getOperand(index), boundaryOf(forwardEnd->getOperand(index)));
  }
  for (auto [argument, operand] : llvm::zip(backwardFunc.getArguments(), backward.getOperands())) {
    auto result = dyn_cast<OpResult>(operand);
    if (result && result.getOwner() == forward)
      places[argument] = places.lookup(forwardEnd->getOperand(result.getResultNumber()));
    else
      declare(argument, operand);
  }
  addOps(backwardFunc, backwardUses);
  Operation *backwardEnd = backwardFunc.getBody().front().getTerminator();
  for (auto [index, result] : llvm::enumerate(backward.getResults())) {
    Value value = backwardEnd->getOperand(index);
    FlatSymbolRefAttr symbol = gradientOf(result);
    graph::GetOp parameter;
    for (Value operand : forward.getOperands())
      if (auto get = getOf(operand); get && symbol && get.getSymbol() == symbol.getValue())
        parameter = get;
    if (parameter)
      returnGradient(value, parameter);
    else if (!result.use_empty())
      require(value, boundaryOf(value));
  }
  connect(forwardUses);
  connect(backwardUses);
  return true;
}

void PlacementNetwork::addRest(graph::FuncOp microbatch) {
  for (BlockArgument argument : microbatch.getArguments())
    places[argument] = {-1, {AxisPlacement::replicate()}};
  for (auto get : microbatch.getBody().getOps<graph::GetOp>())
    if (llvm::any_of(get->getUsers(), [](Operation *user) { return !isa<graph::CallOp>(user); }))
      places[get.getResult()] = parameterOf(get);
  for (auto call : microbatch.getBody().getOps<graph::CallOp>())
    for (Value result : call.getResults())
      places[result] = {-1, {boundaryOf(result)}};
  Uses uses;
  addOps(microbatch, uses);
  for (auto call : microbatch.getBody().getOps<graph::CallOp>()) {
    std::vector<int64_t> told;
    for (Value operand : call.getOperands()) {
      bool isMade =
          operand.getDefiningOp() && !isa<graph::GetOp, graph::CallOp>(operand.getDefiningOp());
      AxisPlacement wanted = boundaryOf(operand);
      if (isMade)
        use(uses, operand, {-1, {wanted}});
      told.push_back(!isMade ? split::kKeep : wanted.isShard() ? wanted.dim : split::kNone);
    }
    calls[call] = std::move(told);
  }
  Operation *end = microbatch.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    auto symbol = microbatch.getResultAttrOfType<FlatSymbolRefAttr>(index, graph::kGradientOfAttr);
    if (!symbol || !value.getDefiningOp() || isa<graph::CallOp>(value.getDefiningOp()))
      continue;
    for (auto get : microbatch.getBody().getOps<graph::GetOp>())
      if (get.getSymbol() == symbol.getValue() && places.count(get.getResult()))
        returnGradient(value, get);
  }
  connect(uses);
}

void PlacementNetwork::decode(ArrayRef<int32_t> choice, SolvedPlacements &solved) const {
  for (const auto &[op, entry] : ops)
    solved.splits[op] = entry.second[static_cast<size_t>(choice[static_cast<size_t>(entry.first)])];
  for (const auto &[symbol, place] : parameters)
    solved.parameters[symbol] =
        place.placements[static_cast<size_t>(choice[static_cast<size_t>(place.node)])];
  for (const auto &[call, told] : calls)
    solved.calls[call] = told;
}

} // namespace dtc
