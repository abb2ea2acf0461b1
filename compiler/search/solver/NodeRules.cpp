// Rules for support, single values and elimination.
#include "compiler/search/solver/NodeRules.h"

#include <algorithm>

namespace dtc::solver {

bool dropUnsupported(WorkGraph &graph, int32_t index) {
  const WorkGraph::Node &node = graph.nodes[index];
  std::vector<char> keep(node.numValues(), 1);
  for (int32_t v = 0; v < node.numValues(); ++v)
    keep[v] = node.unary[v] < kInfiniteCost;
  for (int32_t e : node.edges) {
    const WorkGraph::Edge &edge = graph.edges[e];
    if (!edge.dirty)
      continue;
    int32_t partners = graph.nodes[edge.other(index)].numValues();
    for (int32_t v = 0; v < node.numValues(); ++v) {
      bool supported = false;
      for (int32_t y = 0; y < partners && keep[v] && !supported; ++y)
        supported = graph.entry(edge, index, v, y) < kInfiniteCost;
      keep[v] = keep[v] && supported;
    }
  }
  if (std::all_of(keep.begin(), keep.end(), [](char k) { return k != 0; }))
    return false;
  graph.keepValues(index, keep);
  return true;
}

bool fixSingle(WorkGraph &graph, int32_t index) {
  WorkGraph::Node &node = graph.nodes[index];
  bool free = node.edges.empty() && node.pieces.empty();
  if (node.numValues() != 1 && !free)
    return false;
  auto best = static_cast<int32_t>(std::min_element(node.unary.begin(), node.unary.end()) -
                                   node.unary.begin());
  graph.constant += node.unary[best];
  for (const WorkGraph::Piece &piece : node.pieces) {
    graph.baseChange[piece.begin] += piece.usages[best];
    graph.baseChange[piece.end] -= piece.usages[best];
  }
  for (int32_t e : node.edges) {
    const WorkGraph::Edge &edge = graph.edges[e];
    WorkGraph::Node &other = graph.nodes[edge.other(index)];
    for (int32_t y = 0; y < other.numValues(); ++y)
      other.unary[y] = addCosts(other.unary[y], graph.entry(edge, index, best, y));
  }
  Removal removal{index};
  removal.values = {node.origin[best]};
  graph.dropNode(index, std::move(removal));
  return true;
}

bool minimiseOut(WorkGraph &graph, int32_t index) {
  const WorkGraph::Node &node = graph.nodes[index];
  if (!node.pieces.empty() || node.edges.size() > 2 || node.edges.empty())
    return false;
  int32_t a = graph.edges[node.edges[0]].other(index), b = -1;
  int64_t rows = graph.nodes[a].numValues(), columns = 1;
  if (node.edges.size() == 2) {
    b = graph.edges[node.edges[1]].other(index);
    columns = graph.nodes[b].numValues();
    if (rows * columns > 2048 && rows * columns > 2 * node.numValues() * (rows + columns))
      return false;
  }
  WorkGraph::Table toA = graph.rowsFor(graph.edges[node.edges[0]], a), toB;
  if (b >= 0)
    toB = graph.rowsFor(graph.edges[node.edges[1]], b);
  WorkGraph::Table least(rows * columns, kInfiniteCost);
  Removal removal{index, a, b};
  removal.values.assign(rows * columns, node.origin[0]);
  removal.columns = static_cast<int32_t>(columns);
  auto values = static_cast<int64_t>(node.numValues());
  for (int64_t x = 0; x < rows; ++x)
    for (int64_t y = 0; y < columns; ++y)
      for (int64_t v = 0; v < values; ++v) {
        int64_t cost = addCosts(node.unary[v], toA[x * values + v]);
        cost = b >= 0 ? addCosts(cost, toB[y * values + v]) : cost;
        if (cost < least[x * columns + y]) {
          least[x * columns + y] = cost;
          removal.values[x * columns + y] = node.origin[v];
        }
      }
  auto positions = [&](int32_t of, std::vector<int32_t> &positionOf) {
    const std::vector<int32_t> &origin = graph.nodes[of].origin;
    positionOf.assign(*std::max_element(origin.begin(), origin.end()) + 1, 0);
    for (size_t v = 0; v < origin.size(); ++v)
      positionOf[origin[v]] = static_cast<int32_t>(v);
  };
  positions(a, removal.rowOf);
  if (b >= 0)
    positions(b, removal.columnOf);
  graph.dropNode(index, std::move(removal));
  if (b >= 0) {
    graph.addTable(a, b, std::move(least));
    return true;
  }
  for (int64_t x = 0; x < rows; ++x)
    graph.nodes[a].unary[x] = addCosts(graph.nodes[a].unary[x], least[x]);
  graph.markDirty(a);
  return true;
}

} // namespace dtc::solver
