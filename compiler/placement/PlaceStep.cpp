// Writes where everything in a step is.
#include "compiler/placement/PlaceStep.h"

#include "compiler/placement/PlaceUpdate.h"
#include "compiler/solver/Solver.h"
#include "passes/shard/FunctionPartitioner.h"
#include "passes/shard/Partition.h"

#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;

namespace dtc {
namespace {

// Effort for each part of a network.
constexpr int64_t kRounds = 4, kRoundWork = 2'000'000;

void writePlacements(PlacedStep &placed, ModuleOp step) {
  for (auto [op, split] : placed.ops)
    setSplit(op, split);
  MLIRContext *context = step.getContext();
  for (auto &[op, list] : placed.arguments)
    for (auto [index, placement] : llvm::enumerate(list))
      cast<graph::FuncOp>(op).setArgAttr(index, kPlacementAttr, toAttr(context, placement));
  for (auto &[op, list] : placed.results)
    for (auto [index, placement] : llvm::enumerate(list))
      cast<graph::FuncOp>(op).setResultAttr(index, kPlacementAttr, toAttr(context, placement));
  for (auto parameter : step.getOps<graph::ParameterOp>())
    if (!parameter.getInUseAttr()) // else it rests where it says
      parameter.setPlacementAttr(
          toAttr(context, placed.parameters.at(parameter.getSymName().str())));
}

// A parameter that rests elsewhere than it is used is held in part, and so is its gradient, at
// once.
void restGradients(ModuleOp step, const Mesh &mesh) {
  auto microbatch = step.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
  for (unsigned index = 0; index < microbatch.getNumResults(); ++index) {
    auto symbol = microbatch.getResultAttrOfType<FlatSymbolRefAttr>(index, graph::kGradientOfAttr);
    if (symbol && placementInUse(step, symbol.getValue(), mesh))
      microbatch.setResultAttr(
          index, kPlacementAttr,
          toAttr(step.getContext(), gradientRequest(step, symbol.getValue(), mesh)));
  }
}

// Whether an axis other than that of data has ranks.
bool hasChoice(const Mesh &mesh) {
  for (auto [role, size] : llvm::zip(mesh.roles, mesh.sizes))
    if (role != AxisRole::Data && size > 1)
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
  std::optional<std::vector<int32_t>> choice;
  if (problem.costs)
    choice = cheapestChoice(network.problem());
  else
    choice.emplace(network.problem().nodes.size(), 0);
  if (!choice)
    return step.emitError("no placement of the step's tensors on the mesh is possible");
  PlacedStep placed = network.decode(*choice);
  writePlacements(placed, step);
  assignStatePlacements(step, problem.mesh);
  restGradients(step, problem.mesh);
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

LogicalResult placeStep(ModuleOp step, const OpSplits &told) {
  FailureOr<Mesh> mesh = readMesh(step);
  if (failed(mesh))
    return failure();
  if (told.empty() && hasChoice(*mesh))
    return step.emitError("the plan has no 'op_splits', which tensor parallelism needs; plan this "
                          "model again with 'dtc plan'");
  return place(step, {step, *mesh, false, false, &told, nullptr, {}});
}

LogicalResult placeStep(ModuleOp step, const PlacementCosts &costs, const PlacementPrices &prices,
                        bool splitsWeights) {
  FailureOr<Mesh> mesh = readMesh(step);
  if (failed(mesh))
    return failure();
  return place(step, {step, *mesh, false, splitsWeights, nullptr, &costs, prices});
}

} // namespace dtc
