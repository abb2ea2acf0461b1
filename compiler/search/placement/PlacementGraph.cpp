// Builds the nodes and edges of a placement network.
#include "compiler/search/placement/PlacementGraph.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dtc {
namespace {

// The solver counts in whole tenths of a nanosecond.
constexpr double kUnitsPerSecond = 1e10;
constexpr double kNever = std::numeric_limits<double>::infinity();
// Tensors with more target placements have no sets of copies.
constexpr size_t kMostTargets = 5;

int64_t units(double seconds) {
  return std::isfinite(seconds) ? std::llround(seconds * kUnitsPerSecond) : solver::kInfiniteCost;
}

void addTo(solver::Problem &network, int node, size_t value, double seconds) {
  int64_t &entry = network.nodes[static_cast<size_t>(node)].costs[value];
  entry = std::min(solver::kInfiniteCost, entry + units(seconds));
}

bool hasPartial(const Placement &placement) {
  return llvm::any_of(placement, [](const AxisPlacement &axis) { return axis.isPartial(); });
}

} // namespace

PlacementGraph::PlacementGraph(const PlacementProblem &problem)
    : costs(problem.costs), microBatches(problem.prices.microBatches),
      tensorAxes(problem.mesh.axesOf(AxisRole::Tensor)) {
  mayScatter = !problem.splitsWeights() || problem.sequenceParallel || tensorAxes.empty();
}

double PlacementGraph::seconds(const Moved &tensor, const Placement &from,
                               const Placement &to) const {
  if (!costs)
    return 0;
  if (!tensor.mayMove(from, to))
    return kNever;
  if (!mayScatter && from[tensorAxes.front()].isPartial() && to[tensorAxes.front()].isShard())
    return kNever;
  return costs->moveSeconds(tensor.type, from, to);
}

// Values of a node often leave a tensor with the same placement, so each pair of different
// placements is asked for once.
PlacementGraph::MoveTable PlacementGraph::tableOf(const Moved &tensor, ArrayRef<Placement> from,
                                                  ArrayRef<Placement> to) const {
  MoveTable table;
  auto distinct = [](ArrayRef<Placement> all, std::vector<size_t> &indices) {
    SmallVector<const Placement *> found;
    for (const Placement &placement : all) {
      auto same = [&](const Placement *other) { return *other == placement; };
      auto it = llvm::find_if(found, same);
      indices.push_back(static_cast<size_t>(it - found.begin()));
      if (it == found.end())
        found.push_back(&placement);
    }
    return found;
  };
  SmallVector<const Placement *> sources = distinct(from, table.sources),
                                 targets = distinct(to, table.targets);
  table.width = targets.size();
  for (const Placement *source : sources)
    for (const Placement *target : targets)
      table.seconds.push_back(seconds(tensor, *source, *target));
  return table;
}

int PlacementGraph::addNode(size_t values) {
  solver::ProblemNode node;
  node.costs.assign(values, 0);
  node.usages.assign(values, 0);
  network.nodes.push_back(std::move(node));
  return static_cast<int>(network.nodes.size()) - 1;
}

void PlacementGraph::addCost(int node, size_t value, double seconds) {
  addTo(network, node, value, seconds);
}

// Costs are whole units, of which sums are the same in any order.
solver::Problem PlacementGraph::problem(const PlacementPrices &prices) const {
  solver::Problem problem = network;
  for (const PricedCost &cost : priced)
    addTo(problem, cost.node, cost.value,
          prices.secondsPerKeptByte * cost.keptBytes +
              prices.secondsPerParameterByte * cost.parameterBytes + cost.seconds);
  return problem;
}

void PlacementGraph::addEdge(int a, int b, std::vector<int64_t> table) {
  if (llvm::all_of(table, [](int64_t cost) { return cost == 0; }))
    return;
  network.edges.push_back({a, b, static_cast<int32_t>(network.tables.size())});
  network.tables.push_back(std::move(table));
}

void PlacementGraph::connectOne(const Moved &tensor, const PlacementNode &source,
                                const PlacementNode &need) {
  if (source.node < 0 || need.node < 0 || source.node == need.node) {
    int node = std::max(source.node, need.node);
    if (node < 0)
      return;
    for (size_t value = 0; value < network.nodes[static_cast<size_t>(node)].costs.size(); ++value)
      addCost(node, value,
              seconds(tensor, source.placements[source.node < 0 ? 0 : value],
                      need.placements[need.node < 0 ? 0 : value]));
    return;
  }
  MoveTable moves = tableOf(tensor, source.placements, need.placements);
  std::vector<int64_t> table;
  for (size_t from = 0; from < source.placements.size(); ++from)
    for (size_t to = 0; to < need.placements.size(); ++to)
      table.push_back(units(moves.at(from, to)));
  addEdge(source.node, need.node, std::move(table));
}

// `needs` of the source's own node are what it brings its tensor to itself.
void PlacementGraph::connectThroughCopies(const Moved &tensor, const PlacementNode &source,
                                          ArrayRef<PlacementNode> needs,
                                          ArrayRef<Placement> targets) {
  size_t sets = size_t(1) << targets.size();
  PlacementNode copies{addNode(sets), {}};
  auto has = [&](size_t set, const Placement &placement) {
    return set >> (llvm::find(targets, placement) - targets.begin()) & 1;
  };
  MoveTable moves = tableOf(tensor, source.placements, targets);
  // Costs of each set for the source's value `from`: a sum over the set's targets, built from the
  // set without one of them.
  auto setCosts = [&](size_t from) {
    std::vector<double> sums(sets, 0);
    for (size_t set = 1; set < sets; ++set) {
      auto bit = static_cast<size_t>(llvm::countr_zero(set));
      sums[set] = sums[set & (set - 1)] + moves.at(from, bit);
    }
    for (const PlacementNode &need : needs)
      if (need.node == source.node && need.placements[from] != source.placements[from])
        for (size_t set = 0; set < sets; ++set)
          if (!has(set, need.placements[from]))
            sums[set] = kNever;
    return sums;
  };
  if (source.node < 0) {
    for (auto [set, cost] : llvm::enumerate(setCosts(0)))
      addCost(copies.node, set, cost);
  } else {
    std::vector<int64_t> table;
    for (size_t from = 0; from < source.placements.size(); ++from)
      for (double cost : setCosts(from))
        table.push_back(units(cost));
    addEdge(source.node, copies.node, std::move(table));
  }
  for (const PlacementNode &need : needs) {
    if (need.node == source.node)
      continue;
    std::vector<int64_t> table;
    for (size_t set = 0; set < sets; ++set)
      for (const Placement &placement : need.placements)
        table.push_back(has(set, placement) ? 0 : solver::kInfiniteCost);
    if (need.node >= 0)
      addEdge(copies.node, need.node, std::move(table));
    else
      for (size_t set = 0; set < sets; ++set)
        addCost(copies.node, set, has(set, need.placements[0]) ? 0 : kNever);
  }
}

void PlacementGraph::connect(Type type, const PlacementNode &source, ArrayRef<PlacementNode> needs,
                             MayMove mayMove) {
  if (!costs)
    return;
  Moved tensor{type, mayMove};
  SmallVector<Placement> targets;
  for (const PlacementNode &need : needs)
    for (auto [index, placement] : llvm::enumerate(need.placements)) {
      bool isThere = need.node == source.node && placement == source.placements[index];
      if (!isThere && !llvm::is_contained(targets, placement))
        targets.push_back(placement);
    }
  if (needs.size() > 1 && targets.size() <= kMostTargets)
    connectThroughCopies(tensor, source, needs, targets);
  else
    for (const PlacementNode &need : needs)
      connectOne(tensor, source, need);
}

void PlacementGraph::connectGradient(Type type, const PlacementNode &source,
                                     const PlacementNode &parameter, MayMove mayMove) {
  if (source.node < 0 || source.node == parameter.node || !costs)
    return;
  std::vector<int64_t> table;
  for (const Placement &from : source.placements)
    for (const Placement &to : parameter.placements)
      table.push_back(
          units(seconds({type, mayMove}, from, to) / (hasPartial(from) ? microBatches : 1)));
  addEdge(source.node, parameter.node, std::move(table));
}

} // namespace dtc
