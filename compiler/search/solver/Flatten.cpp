// Writes nodes, tables and pieces in the order of the network.
#include "compiler/search/solver/Flatten.h"

#include "compiler/search/solver/Reduction.h"

#include <xxhash.h>

#include <algorithm>
#include <unordered_map>

namespace dtc::solver {
namespace {

// Stores both orders of a table once for all edges that have it.
class DoubleTables {
public:
  explicit DoubleTables(Network &network) : network(network) {}

  const double *intern(const WorkGraph::Table &table) {
    uint64_t hash = XXH3_64bits(table.data(), table.size() * sizeof(int64_t));
    auto [begin, end] = byHash.equal_range(hash);
    std::vector<double> costs(table.size());
    for (size_t i = 0; i < table.size(); ++i)
      costs[i] = table[i] >= kInfiniteCost ? network.forbidden : static_cast<double>(table[i]);
    for (auto it = begin; it != end; ++it)
      if (network.tables[it->second] == costs)
        return network.tables[it->second].data();
    byHash.emplace(hash, network.tables.size());
    network.tables.push_back(std::move(costs));
    return network.tables.back().data();
  }

private:
  Network &network;
  std::unordered_multimap<uint64_t, size_t> byHash;
};

// Returns more than the sum of all finite costs, those already decided included.
double forbiddenCost(const WorkGraph &graph) {
  auto most = [](const std::vector<int64_t> &costs) {
    int64_t largest = 0;
    for (int64_t cost : costs)
      if (cost < kInfiniteCost)
        largest = std::max(largest, std::abs(cost));
    return static_cast<double>(largest);
  };
  double sum = 1 + static_cast<double>(graph.constant);
  for (const WorkGraph::Node &node : graph.nodes)
    sum += node.alive ? most(node.unary) : 0;
  for (const WorkGraph::Edge &edge : graph.edges)
    sum += edge.alive ? most(*edge.table) : 0;
  return 4 * sum;
}

} // namespace

void flatten(const WorkGraph &graph, Reduction &reduction) {
  Network &network = reduction.network;
  network.constant = static_cast<double>(graph.constant);
  network.forbidden = forbiddenCost(graph);
  for (int64_t used : graph.baseUsage())
    network.capacity.push_back(graph.limit - used);
  std::vector<int32_t> positionOf(graph.nodes.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const WorkGraph::Node &node = graph.nodes[i];
    if (!node.alive)
      continue;
    positionOf[i] = network.numNodes();
    reduction.kept.push_back(static_cast<int32_t>(i));
    reduction.origin.push_back(node.origin);
    for (int64_t cost : node.unary)
      network.unary.push_back(static_cast<double>(cost));
    network.first.push_back(static_cast<int32_t>(network.unary.size()));
    for (const WorkGraph::Piece &piece : node.pieces) {
      network.pieces.push_back(
          {piece.begin, piece.end, static_cast<int64_t>(network.usages.size())});
      network.usages.insert(network.usages.end(), piece.usages.begin(), piece.usages.end());
    }
    network.firstPiece.push_back(static_cast<int32_t>(network.pieces.size()));
  }
  DoubleTables tables(network);
  for (int32_t i : reduction.kept) {
    auto begin = static_cast<int64_t>(network.neighbours.size());
    for (int32_t e : graph.nodes[i].edges) {
      const WorkGraph::Edge &edge = graph.edges[e];
      int32_t other = edge.other(i);
      network.neighbours.push_back({positionOf[other], tables.intern(graph.rowsFor(edge, i)),
                                    tables.intern(graph.rowsFor(edge, other))});
    }
    std::sort(network.neighbours.begin() + begin, network.neighbours.end(),
              [](const auto &a, const auto &b) { return a.node < b.node; });
    network.firstNeighbour.push_back(static_cast<int32_t>(network.neighbours.size()));
  }
}

} // namespace dtc::solver
