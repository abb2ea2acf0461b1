// Solves the networks of a model's placements.
#include "compiler/placement/PlacementSearch.h"

#include "compiler/solver/Solver.h"
#include "passes/Pipelines.h"
#include "passes/shard/Partition.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace dtc {
namespace {

// Effort of a network, in work and not by the clock, so that plans do not depend on the machine.
constexpr int64_t kRounds = 4, kRoundWork = 2'000'000;

bool solveInto(const PlacementNetwork &network, SolvedPlacements &solved) {
  solver::SolveOptions options;
  options.threads = 1;
  options.rounds = kRounds;
  options.roundWork = kRoundWork;
  assert(solver::problemError(network.problem()).empty() && "networks are well-formed");
  solver::SolveResult result = solver::solve(network.problem(), options);
  if (!result.feasible())
    return false;
  network.decode(result.choice, solved);
  return true;
}

OpSplits splitsOf(ModuleOp step, const SolvedPlacements &solved) {
  OpSplits splits;
  for (auto [op, choice] : solved.splits)
    splits.functions[cast<graph::FuncOp>(op->getParentOp()).getSymName().str()].push_back(
        {op->getName().stripDialect().str(), choice});
  for (const auto &[call, told] : solved.calls)
    splits.calls[cast<graph::CallOp>(call).getCallee().str()] = told;
  return splits;
}

} // namespace

PlacementSearcher::PlacementSearcher(const FoldedModel &model) {
  ModuleOp source = *model.module;
  step = differentiateFolded(source);
  if (!step)
    return;
  decomposeCrossEntropy(*step);
  roles.emplace(*step, graph::kMicrobatchFunction);
}

std::optional<SearchedPlacements>
PlacementSearcher::cheapest(int64_t tp, bool sequenceParallel, const MemoryWorth &worth,
                            const RankGroup &group, const Topology &topology,
                            const CellPrecision &precision, const SoftwareStack &software) const {
  if (!step)
    return std::nullopt;
  ModuleOp module = *step;
  auto microbatch = module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
  PlacementCosts costs(*roles, group, tp, topology, precision, software);
  PlacementPrices prices;
  prices.secondsPerKeptByte = worth.keptByte;
  prices.secondsPerParameterByte = worth.parameterByte;
  SolvedPlacements solved;
  llvm::SmallPtrSet<Operation *, 8> done;
  for (auto forward : microbatch.getBody().getOps<graph::CallOp>()) {
    if (done.contains(forward))
      continue;
    graph::CallOp backward;
    for (Value result : forward.getResults())
      for (Operation *user : result.getUsers())
        if (auto call = dyn_cast<graph::CallOp>(user); call && result != forward.getResult(0))
          backward = call;
    if (!backward)
      return std::nullopt;
    done.insert(backward);
    PlacementNetwork network(costs, prices, sequenceParallel);
    if (!network.addBlock(module, forward, backward) || !solveInto(network, solved))
      return std::nullopt;
  }
  PlacementNetwork rest(costs, prices, sequenceParallel);
  rest.addRest(microbatch);
  if (!solveInto(rest, solved))
    return std::nullopt;
  SearchedPlacements found;
  found.splits = splitsOf(module, solved);
  for (const auto &[symbol, placement] : solved.parameters)
    found.parameters[symbol] = placement.isShard() ? placement.dim : -1;
  return found;
}

} // namespace dtc
