// Writes where everything in a step is.
#include "compiler/search/placement/PlaceStep.h"

#include "compiler/search/placement/PlaceUpdate.h"
#include "compiler/search/solver/Solver.h"
#include "dialects/graph/ElementwiseOps.h"
#include "passes/shard/FunctionPartitioner.h"
#include "passes/shard/Partition.h"
#include "passes/shard/StatePlacement.h"

#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;

namespace dtc {
namespace {

// Effort for each part of a network.
constexpr int64_t kRounds = 4, kRoundWork = 2'000'000;

void writePlacements(PlacedStep &placed, ModuleOp step, const Mesh &mesh) {
  for (auto [op, split] : placed.ops)
    setSplit(op, split);
  MLIRContext *context = step.getContext();
  for (auto &[op, list] : placed.arguments)
    for (auto [index, placement] : llvm::enumerate(list))
      cast<graph::FuncOp>(op).setArgAttr(index, kPlacementAttr, toAttr(context, placement));
  for (auto &[op, list] : placed.results)
    for (auto [index, placement] : llvm::enumerate(list))
      cast<graph::FuncOp>(op).setResultAttr(index, kPlacementAttr, toAttr(context, placement));
  for (auto parameter : step.getOps<graph::ParameterOp>()) {
    auto found = placed.parameters.find(parameter.getSymName().str());
    bool isUnread = found == placed.parameters.end(); // only the update reads it
    if (!isUnread && !parameter.getInUseAttr())       // otherwise its resting placement is fixed
      parameter.setPlacementAttr(toAttr(context, found->second));
    else if (isUnread && !parameter.getPlacement())
      parameter.setPlacementAttr(toAttr(context, replicated(mesh)));
  }
}

// Sets the default placement of parameters without one: sharded over the data axis at rest, and
// gathered for use.
void restParameters(ModuleOp step, const Mesh &mesh) {
  auto zero = step->getAttrOfType<IntegerAttr>(graph::kZeroAttr);
  if (!zero || zero.getInt() < 3)
    return;
  for (auto parameter : step.getOps<graph::ParameterOp>()) {
    if (parameter.getInUseAttr())
      continue;
    Placement inUse = fromAttr(parameter.getPlacementAttr(), mesh);
    Placement atRest = shardedAtRest(cast<RankedTensorType>(parameter.getType()), inUse, mesh);
    if (atRest == inUse)
      continue;
    parameter.setInUseAttr(toAttr(step.getContext(), inUse));
    parameter.setPlacementAttr(toAttr(step.getContext(), atRest));
  }
}

// Gradients that no rank holds whole: each micro-batch takes them apart where they are made, in the
// block, and sums grow in parts. What is unfinished on other axes stays so until the step's end.
class GradientScatter {
public:
  GradientScatter(ModuleOp step, const Mesh &mesh) : step(step), stored(step), mesh(mesh) {
    auto zero = step->getAttrOfType<IntegerAttr>(graph::kZeroAttr);
    ofAll = zero && zero.getInt() >= 2;
  }

  void run() {
    auto microbatch = step.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
    Operation *end = microbatch.getBody().front().getTerminator();
    for (unsigned index = 0; index < microbatch.getNumResults(); ++index) {
      auto symbol =
          microbatch.getResultAttrOfType<FlatSymbolRefAttr>(index, graph::kGradientOfAttr);
      if (!symbol || (!ofAll && !placementInUse(stored, symbol.getValue(), mesh)))
        continue;
      Placement wanted = gradientRequest(stored, symbol.getValue(), mesh);
      scatter(microbatch, index, wanted);
      scatterAt(end->getOperand(index), wanted);
    }
  }

private:
  // Result `index` of a function leaves in parts where `wanted` has parts.
  void scatter(graph::FuncOp func, unsigned index, const Placement &wanted) {
    FailureOr<Placement> placement = placementOfResult(func, index, mesh);
    assert(succeeded(placement) && "the network has placed all results");
    for (auto [now, then] : llvm::zip(*placement, wanted))
      if (then.isShard())
        now = then;
    func.setResultAttr(index, kPlacementAttr, toAttr(step.getContext(), *placement));
  }

  // Takes the addends of a gradient apart, each where it is made.
  void scatterAt(Value value, const Placement &wanted) {
    auto result = dyn_cast<OpResult>(value);
    if (!result || !value.hasOneUse())
      return;
    if (auto call = dyn_cast<graph::BlockCallOpInterface>(result.getOwner())) {
      auto block = step.lookupSymbol<graph::FuncOp>(call.getBlockName());
      if (static_cast<int64_t>(result.getResultNumber()) >= call.getNumCarried())
        scatter(block, result.getResultNumber(), wanted);
      return;
    }
    auto add = dyn_cast<graph::AddOp>(result.getOwner());
    if (!add)
      return;
    FailureOr<OpSplit> split = readSplit(add, add.getRule(), mesh);
    assert(succeeded(split) && "the network has split all ops");
    for (auto [axis, then] : llvm::enumerate(wanted))
      if (then.isShard())
        (*split)[axis] = static_cast<int>(then.dim); // its loops are the dims
    setSplit(add, *split);
    for (Value addend : {add.getLhs(), add.getRhs()})
      scatterAt(addend, wanted);
  }

  ModuleOp step;
  Stored stored;
  const Mesh &mesh;
  bool ofAll = false;
};

// Returns true if an axis along which ops may be split in several ways has more than one rank.
bool hasChoice(const Mesh &mesh) {
  for (auto [role, size] : llvm::zip(mesh.roles, mesh.sizes))
    if (role == AxisRole::Tensor && size > 1)
      return true;
  return false;
}

LogicalResult place(ModuleOp step, PlacementProblem problem) {
  for (StringRef name : {graph::kMicrobatchFunction, graph::kUpdateFunction})
    if (!step.lookupSymbol<graph::FuncOp>(name))
      return step.emitError("placing needs '@microbatch' and '@update'; run dtc-differentiate and "
                            "dtc-add-optimizer first");
  problem.sequenceParallel = step->hasAttr(graph::kSequenceParallelAttr);
  PlacementNetwork network(problem);
  if (failed(network.build()))
    return failure();
  solver::Problem costs = network.problem(problem.prices);
  std::optional<std::vector<int32_t>> choice;
  if (problem.costs)
    choice = cheapestChoice(costs);
  else
    choice.emplace(costs.nodes.size(), 0);
  if (!choice)
    return step.emitError("no placement of the step's tensors on the mesh is possible");
  PlacedStep placed = network.decode(*choice);
  writePlacements(placed, step, problem.mesh);
  if (problem.costs)
    restParameters(step, problem.mesh);
  assignStatePlacements(step, problem.mesh);
  GradientScatter(step, problem.mesh).run();
  return placeUpdate(step, problem.mesh);
}

// Numbers the parts of a network that no edge connects; one entry per node.
llvm::IntEqClasses partsOf(const solver::Problem &network) {
  llvm::IntEqClasses parts(static_cast<unsigned>(network.nodes.size()));
  for (const solver::ProblemEdge &edge : network.edges)
    parts.join(static_cast<unsigned>(edge.a), static_cast<unsigned>(edge.b));
  parts.compress();
  return parts;
}

} // namespace

std::optional<std::vector<int32_t>> cheapestChoice(const solver::Problem &network) {
  llvm::IntEqClasses parts = partsOf(network);
  std::vector<solver::Problem> problems(parts.getNumClasses());
  std::vector<int32_t> numberInPart(network.nodes.size());
  for (auto [index, node] : llvm::enumerate(network.nodes)) {
    solver::Problem &part = problems[parts[static_cast<unsigned>(index)]];
    numberInPart[index] = static_cast<int32_t>(part.nodes.size());
    part.nodes.push_back(node);
  }
  for (const solver::ProblemEdge &edge : network.edges) {
    solver::Problem &part = problems[parts[static_cast<unsigned>(edge.a)]];
    part.edges.push_back({numberInPart[static_cast<size_t>(edge.a)],
                          numberInPart[static_cast<size_t>(edge.b)],
                          static_cast<int32_t>(part.tables.size())});
    part.tables.push_back(network.tables[static_cast<size_t>(edge.table)]);
  }
  solver::SolveOptions options;
  options.threads = 1;
  options.rounds = kRounds;
  options.roundWork = kRoundWork;
  std::vector<std::vector<int32_t>> choices;
  for (const solver::Problem &part : problems) {
    assert(solver::problemError(part).empty() && "networks are well-formed");
    solver::SolveResult result = solver::solve(part, options);
    if (!result.feasible())
      return std::nullopt;
    choices.push_back(std::move(result.choice));
  }
  std::vector<int32_t> choice(network.nodes.size());
  for (size_t index = 0; index < choice.size(); ++index)
    choice[index] =
        choices[parts[static_cast<unsigned>(index)]][static_cast<size_t>(numberInPart[index])];
  return choice;
}

LogicalResult placeStep(ModuleOp step, const OpSplits &planned) {
  FailureOr<Mesh> mesh = readMesh(step);
  if (failed(mesh))
    return failure();
  if (planned.empty() && hasChoice(*mesh))
    return step.emitError("the plan has no 'op_splits', which tensor parallelism needs; plan this "
                          "model again with 'dtc plan'");
  PlacementProblem problem{step, *mesh};
  problem.planned = &planned;
  return place(step, problem);
}

LogicalResult placeStep(ModuleOp step, const PlacementCosts &costs, const PlacementPrices &prices,
                        TensorPattern pattern) {
  FailureOr<Mesh> mesh = readMesh(step);
  if (failed(mesh))
    return failure();
  PlacementProblem problem{step, *mesh};
  problem.pattern = pattern;
  problem.costs = &costs;
  problem.prices = prices;
  return place(step, problem);
}

} // namespace dtc
