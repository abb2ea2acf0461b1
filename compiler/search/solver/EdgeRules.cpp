// Finds separable and functional tables.
#include "compiler/search/solver/EdgeRules.h"

#include <algorithm>

namespace dtc::solver {
namespace {

// Returns true if each value of `from` goes with one value of the other end, and fills `partner`
// with those values.
bool isFunction(const WorkGraph &graph, const WorkGraph::Edge &edge, int32_t from,
                std::vector<int32_t> &partner) {
  int32_t rows = graph.nodes[from].numValues(), columns = graph.nodes[edge.other(from)].numValues();
  partner.assign(rows, -1);
  for (int32_t x = 0; x < rows; ++x)
    for (int32_t y = 0; y < columns; ++y) {
      if (graph.entry(edge, from, x, y) >= kInfiniteCost)
        continue;
      if (partner[x] >= 0)
        return false;
      partner[x] = y;
    }
  return std::find(partner.begin(), partner.end(), -1) == partner.end();
}

void mergeInto(WorkGraph &graph, int32_t e, int32_t stay, const std::vector<int32_t> &partner) {
  int32_t gone = graph.edges[e].other(stay);
  WorkGraph::Node &node = graph.nodes[stay];
  for (int32_t x = 0; x < node.numValues(); ++x) {
    int64_t both = addCosts(graph.nodes[gone].unary[partner[x]],
                            graph.entry(graph.edges[e], stay, x, partner[x]));
    node.unary[x] = addCosts(node.unary[x], both);
  }
  for (const WorkGraph::Piece &piece : graph.nodes[gone].pieces) {
    std::vector<int64_t> usages(node.numValues());
    for (int32_t x = 0; x < node.numValues(); ++x)
      usages[x] = piece.usages[partner[x]];
    node.pieces.push_back({piece.begin, piece.end, std::move(usages)});
  }
  node.piecesChanged = true;
  std::vector<int32_t> list = graph.nodes[gone].edges;
  for (int32_t other : list) {
    if (other == e)
      continue;
    int32_t far = graph.edges[other].other(gone);
    WorkGraph::Table from = graph.rowsFor(graph.edges[other], gone), table;
    auto columns = static_cast<int64_t>(graph.nodes[far].numValues());
    table.reserve(graph.nodes[stay].numValues() * columns);
    for (int32_t p : partner)
      table.insert(table.end(), from.begin() + p * columns, from.begin() + (p + 1) * columns);
    graph.addTable(stay, far, std::move(table));
  }
  Removal removal{gone, stay};
  int32_t largest =
      *std::max_element(graph.nodes[stay].origin.begin(), graph.nodes[stay].origin.end());
  removal.rowOf.assign(largest + 1, 0);
  for (size_t x = 0; x < partner.size(); ++x) {
    removal.rowOf[graph.nodes[stay].origin[x]] = static_cast<int32_t>(x);
    removal.values.push_back(graph.nodes[gone].origin[partner[x]]);
  }
  graph.dropNode(gone, std::move(removal));
  graph.markDirty(stay);
}

} // namespace

bool foldSeparable(WorkGraph &graph, int32_t e) {
  const WorkGraph::Edge &edge = graph.edges[e];
  const WorkGraph::Table &table = *edge.table;
  WorkGraph::Node &a = graph.nodes[edge.a], &b = graph.nodes[edge.b];
  auto columns = static_cast<size_t>(b.numValues());
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i] >= kInfiniteCost ||
        table[i] - table[i % columns] != table[i - i % columns] - table[0])
      return false;
  // f takes the first column minus its least entry, so that no unary cost gets negative.
  int64_t least = table[0];
  for (size_t x = 0; x < a.unary.size(); ++x)
    least = std::min(least, table[x * columns]);
  for (size_t x = 0; x < a.unary.size(); ++x)
    a.unary[x] = addCosts(a.unary[x], table[x * columns] - least);
  for (size_t y = 0; y < columns; ++y)
    b.unary[y] = addCosts(b.unary[y], table[y] - table[0] + least);
  graph.dropEdge(e);
  return true;
}

bool mergeFunctional(WorkGraph &graph, int32_t e) {
  const WorkGraph::Edge &edge = graph.edges[e];
  auto weight = [&](int32_t node) {
    return graph.nodes[node].edges.size() + graph.nodes[node].pieces.size();
  };
  int32_t heavy = weight(edge.a) >= weight(edge.b) ? edge.a : edge.b;
  std::vector<int32_t> partner;
  for (int32_t stay : {heavy, edge.other(heavy)})
    if (isFunction(graph, edge, stay, partner)) {
      mergeInto(graph, e, stay, partner);
      return true;
    }
  return false;
}

} // namespace dtc::solver
