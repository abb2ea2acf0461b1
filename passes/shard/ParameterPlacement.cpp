// Chooses where parameters live on the axis that splits weights.
#include "passes/shard/ParameterPlacement.h"

#include "passes/shard/Partition.h"
#include "passes/shard/Reshard.h"

#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/MapVector.h"

#include <limits>

using namespace mlir;

namespace dtc {
namespace {

constexpr int64_t kMaxCombinations = 4096;

// Reads and writes of one parameter byte by the optimizer (parameter, gradient, two moments), in
// bytes that could have been sent instead.
constexpr double kOptimizerTraffic = 0.7;

// One block or @loss, with its ops' rules computed once.
class BlockEvaluator {
public:
  BlockEvaluator(graph::FuncOp func, const Mesh &mesh, const ParameterPlacementOptions &options)
      : func(func), mesh(mesh), options(options) {
    for (Operation &op : func.getBody().front().without_terminator())
      if (auto interface = dyn_cast<graph::RuleOpInterface>(op))
        rules.try_emplace(&op, interface.getRule());
  }

  // Weights whose placement is searched: those of matrix products and embeddings. Splitting weights
  // over the axis is what the axis is for: weights of products are not kept whole unless no dim is
  // long enough.
  void addVariable(Value weight, bool mayStayWhole) {
    SmallVector<AxisPlacement> &list = choices[weight];
    auto type = cast<RankedTensorType>(weight.getType());
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.getDimSize(dim) * 2 >=
          mesh.sizes[options.weightAxis]) // else most ranks hold padding
        list.push_back(AxisPlacement::shard(dim));
    if (mayStayWhole || list.empty())
      list.push_back(AxisPlacement::replicate());
    variables.insert({weight, replicated(mesh)});
    variables[weight][options.weightAxis] = list.front();
  }
  // Weights that follow their first user.
  void addFollower(Value weight) { followers.insert(weight); }
  void fix(Value weight, const Placement &placement) { fixedWeights[weight] = placement; }
  void setActivation(Value value, const Placement &placement) { activations[value] = placement; }
  void setCallResults(graph::CallOp call, std::vector<Placement> results) {
    calls[call] = std::move(results);
  }

  void search() {
    int64_t combinations = 1;
    for (auto &[weight, placement] : variables)
      combinations = std::min<int64_t>(kMaxCombinations + 1, combinations * choices[weight].size());
    if (combinations <= kMaxCombinations)
      searchAll();
    else
      searchOneByOne();
  }

  // The placement of each weight of the best combination, followers included.
  llvm::MapVector<Value, Placement> weights() {
    evaluate();
    llvm::MapVector<Value, Placement> all = variables;
    for (auto &[weight, placement] : followed)
      all.insert({weight, placement});
    return all;
  }

  std::vector<Placement> resultPlacements() {
    evaluate();
    std::vector<Placement> results;
    for (Value value : func.getBody().front().getTerminator()->getOperands())
      results.push_back(stateOf(value).placement);
    return results;
  }

private:
  void searchAll() {
    llvm::MapVector<Value, Placement> best = variables;
    double bestCost = std::numeric_limits<double>::infinity();
    SmallVector<size_t> digits(variables.size(), 0);
    for (bool more = true; more;) {
      for (auto [entry, digit] : llvm::zip(variables, digits))
        entry.second[options.weightAxis] = choices[entry.first][digit];
      double cost = evaluate();
      if (cost < bestCost) {
        best = variables;
        bestCost = cost;
      }
      more = false;
      for (auto [entry, digit] : llvm::zip(variables, digits)) {
        if (++digit < choices[entry.first].size()) {
          more = true;
          break;
        }
        digit = 0;
      }
    }
    variables = best;
  }

  // Pairs of variables at a time, so that a column split can meet its row split.
  void searchOneByOne() {
    double bestCost = evaluate();
    for (bool improved = true; improved;) {
      improved = false;
      for (auto &first : variables)
        for (auto &second : variables)
          improved |= improvePair(first, second, bestCost);
    }
  }

  bool improvePair(std::pair<Value, Placement> &first, std::pair<Value, Placement> &second,
                   double &bestCost) {
    AxisPlacement &a = first.second[options.weightAxis], &b = second.second[options.weightAxis];
    AxisPlacement bestA = a, bestB = b;
    bool improved = false;
    for (const AxisPlacement &choiceA : choices[first.first])
      for (const AxisPlacement &choiceB : choices[second.first]) {
        a = choiceA;
        b = choiceB;
        double cost = evaluate();
        if (cost < bestCost * (1 - 1e-9)) {
          bestCost = cost;
          bestA = a;
          bestB = b;
          improved = true;
        }
      }
    a = bestA;
    b = bestB;
    return improved;
  }

  OperandState stateOf(Value value) const {
    auto global = cast<RankedTensorType>(value.getType());
    if (auto it = variables.find(value); it != variables.end())
      return {global, it->second, true, false};
    if (auto it = fixedWeights.find(value); it != fixedWeights.end())
      return {global, it->second, true, false};
    if (auto it = followed.find(value); it != followed.end())
      return {global, it->second, true, false};
    if (followers.contains(value))
      return {global, replicated(mesh), true, true};
    if (auto it = placed.find(value); it != placed.end())
      return {global, it->second, false, false};
    if (auto it = activations.find(value); it != activations.end())
      return {global, it->second, false, false};
    return {global, replicated(mesh), false, false};
  }

  double evaluate() {
    placed.clear();
    followed.clear();
    double cost = 0;
    for (Operation &op : func.getBody().front().without_terminator()) {
      if (auto call = dyn_cast<graph::CallOp>(op)) {
        cost += evaluateCall(call);
        continue;
      }
      auto rule = rules.find(&op);
      if (rule != rules.end())
        cost += evaluateOp(op, rule->second);
    }
    for (Value value : func.getBody().front().getTerminator()->getOperands()) {
      OperandState state = stateOf(value);
      auto wanted = activations.find(value);
      Placement to = wanted == activations.end() ? withoutPartial(state.placement) : wanted->second;
      cost += reshardBytes(state.global, state.placement, to, mesh);
    }
    for (auto &[weight, placement] : variables)
      cost +=
          kOptimizerTraffic * localBytes(cast<RankedTensorType>(weight.getType()), placement, mesh);
    return cost;
  }

  static Placement withoutPartial(Placement placement) {
    for (AxisPlacement &axis : placement)
      if (axis.isPartial())
        axis = AxisPlacement::replicate();
    return placement;
  }

  double evaluateOp(Operation &op, const graph::OpRule &rule) {
    SmallVector<OperandState> states;
    for (Value operand : op.getOperands())
      states.push_back(stateOf(operand));
    SmallVector<std::optional<Placement>> hints(op.getNumResults());
    OpDecision decision = placeOp(&op, rule, states, hints, mesh, options.policy);
    for (auto [operand, state, needed] : llvm::zip(op.getOperands(), states, decision.operands))
      if (state.free)
        followed.insert({operand, needed});
    for (auto [result, placement] : llvm::zip(op.getResults(), decision.results))
      placed[result] = placement;
    return decision.cost;
  }

  // The callee's own cost does not depend on this function's variables; only its operands must be
  // whole sums.
  double evaluateCall(graph::CallOp call) {
    double cost = 0;
    for (Value operand : call.getOperands()) {
      OperandState state = stateOf(operand);
      cost += reshardBytes(state.global, state.placement, withoutPartial(state.placement), mesh);
    }
    auto results = calls.find(call);
    for (auto [index, result] : llvm::enumerate(call.getResults()))
      placed[result] = results == calls.end() ? replicated(mesh) : results->second[index];
    return cost;
  }

  graph::FuncOp func;
  const Mesh &mesh;
  const ParameterPlacementOptions &options;
  DenseMap<Operation *, graph::OpRule> rules;
  llvm::MapVector<Value, Placement> variables;
  DenseMap<Value, SmallVector<AxisPlacement>> choices;
  llvm::MapVector<Value, Placement> followed;
  DenseMap<Value, Placement> fixedWeights, activations, placed;
  DenseMap<Operation *, std::vector<Placement>> calls;
  llvm::DenseSet<Value> followers;
};

// Chooses block by block, then the parameters that @loss uses itself.
class ModelPlacer {
public:
  ModelPlacer(ModuleOp module, const Mesh &mesh, const ParameterPlacementOptions &options)
      : module(module), mesh(mesh), options(options) {}

  LogicalResult run() {
    auto loss = module.lookupSymbol<graph::FuncOp>("loss");
    if (!loss)
      return module.emitError("choosing placements needs the forward function '@loss'");
    BlockEvaluator evaluator(loss, mesh, options);
    for (BlockArgument argument : loss.getArguments())
      evaluator.setActivation(argument, activationPlacement(argument, false));
    for (auto call : loss.getBody().getOps<graph::CallOp>())
      evaluator.setCallResults(call, placeBlock(call));
    for (auto get : loss.getBody().getOps<graph::GetOp>())
      declare(evaluator, get.getResult(), existing(get));
    evaluator.search();
    for (auto &[weight, placement] : evaluator.weights())
      if (auto get = weight.getDefiningOp<graph::GetOp>())
        assign(get, placement);
    for (auto parameter : module.getOps<graph::ParameterOp>())
      if (!parameter.getPlacementAttr())
        parameter.setPlacementAttr(toAttr(module.getContext(), replicated(mesh)));
    return success();
  }

private:
  Placement activationPlacement(Value value, bool insideBlock) const {
    Placement placement = replicated(mesh);
    auto type = cast<RankedTensorType>(value.getType());
    if (options.policy.dataAxis >= 0 && type.getRank() > 0)
      placement[options.policy.dataAxis] = AxisPlacement::shard(0);
    if (insideBlock && options.policy.sequenceParallel && options.weightAxis >= 0 &&
        type.getRank() >= 3)
      placement[options.weightAxis] = AxisPlacement::shard(1);
    return placement;
  }

  std::optional<Placement> existing(graph::GetOp get) {
    auto parameter = module.lookupSymbol<graph::ParameterOp>(get.getSymbol());
    if (!parameter || !parameter.getPlacementAttr())
      return std::nullopt;
    return fromAttr(parameter.getPlacementAttr(), mesh);
  }

  void assign(graph::GetOp get, const Placement &placement) {
    auto parameter = module.lookupSymbol<graph::ParameterOp>(get.getSymbol());
    if (parameter && !parameter.getPlacementAttr())
      parameter.setPlacementAttr(toAttr(module.getContext(), placement));
  }

  void declare(BlockEvaluator &evaluator, Value weight, std::optional<Placement> known) {
    if (known)
      evaluator.fix(weight, *known);
    else if (options.weightAxis >= 0 && isSearched(weight))
      evaluator.addVariable(weight, /*mayStayWhole=*/!isInProduct(weight));
    else
      evaluator.addFollower(weight);
  }

  static bool hasUser(Value weight, llvm::function_ref<bool(const graph::OpRule &)> matches) {
    return llvm::any_of(weight.getUsers(), [&](Operation *user) {
      auto interface = dyn_cast<graph::RuleOpInterface>(user);
      return interface && matches(interface.getRule());
    });
  }
  static bool isInProduct(Value weight) {
    return hasUser(weight, [](const graph::OpRule &rule) { return rule.matrixProduct; });
  }
  static bool isSearched(Value weight) {
    return cast<RankedTensorType>(weight.getType()).getRank() >= 2 &&
           hasUser(weight, [](const graph::OpRule &rule) {
             return rule.matrixProduct || !rule.indexedLoops.empty();
           });
  }

  // Searches the callee once, assigns what was found to the parameters of this call, returns its
  // results' placements.
  std::vector<Placement> placeBlock(graph::CallOp call) {
    auto callee = module.lookupSymbol<graph::FuncOp>(call.getCallee());
    auto it = placedBlocks.find(callee);
    if (it == placedBlocks.end())
      it = placedBlocks.try_emplace(callee, searchBlock(call, callee)).first;
    for (auto [argument, placement] : it->second.weights)
      if (auto get = call.getOperands()[argument].getDefiningOp<graph::GetOp>())
        assign(get, placement);
    return it->second.results;
  }

  struct PlacedBlock {
    std::vector<std::pair<unsigned, Placement>> weights;
    std::vector<Placement> results;
  };

  PlacedBlock searchBlock(graph::CallOp call, graph::FuncOp callee) {
    BlockEvaluator evaluator(callee, mesh, options);
    for (auto [argument, operand] : llvm::zip(callee.getArguments(), call.getOperands())) {
      auto get = operand.getDefiningOp<graph::GetOp>();
      if (get)
        declare(evaluator, argument, existing(get));
      else
        evaluator.setActivation(argument, activationPlacement(argument, true));
    }
    for (Value value : callee.getBody().front().getTerminator()->getOperands())
      evaluator.setActivation(value, activationPlacement(value, true));
    evaluator.search();
    PlacedBlock block;
    for (auto &[weight, placement] : evaluator.weights())
      if (auto argument = dyn_cast<BlockArgument>(weight))
        block.weights.emplace_back(argument.getArgNumber(), placement);
    for (Placement placement : evaluator.resultPlacements()) {
      for (AxisPlacement &axis : placement)
        if (axis.isPartial())
          axis = AxisPlacement::replicate();
      block.results.push_back(placement);
    }
    return block;
  }

  ModuleOp module;
  const Mesh &mesh;
  const ParameterPlacementOptions &options;
  DenseMap<Operation *, PlacedBlock> placedBlocks;
};

} // namespace

LogicalResult chooseParameterPlacements(ModuleOp module, const Mesh &mesh,
                                        const ParameterPlacementOptions &options) {
  // Searched as it will be partitioned: with a loss that can be split over words.
  OwningOpRef<ModuleOp> copy(module.clone());
  decomposeCrossEntropy(*copy);
  if (failed(ModelPlacer(*copy, mesh, options).run()))
    return failure();
  for (auto parameter : module.getOps<graph::ParameterOp>())
    parameter.setPlacementAttr(
        copy->lookupSymbol<graph::ParameterOp>(parameter.getSymName()).getPlacementAttr());
  return success();
}

} // namespace dtc
