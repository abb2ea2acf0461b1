// Compares a node's values in pairs.
#include "compiler/search/solver/Dominance.h"

#include <algorithm>

namespace dtc::solver {
namespace {

void dropDominatedOf(WorkGraph &graph, int32_t index, int64_t &work) {
  const WorkGraph::Node &node = graph.nodes[index];
  int32_t values = node.numValues();
  std::vector<WorkGraph::Table> rows;
  std::vector<int64_t> rowLeast(node.edges.size() * values, kInfiniteCost), widths;
  for (size_t e = 0; e < node.edges.size(); ++e) {
    rows.push_back(graph.rowsFor(graph.edges[node.edges[e]], index));
    widths.push_back(static_cast<int64_t>(rows[e].size()) / values);
    for (size_t i = 0; i < rows[e].size(); ++i)
      rowLeast[e * values + i / widths[e]] =
          std::min(rowLeast[e * values + i / widths[e]], rows[e][i]);
    work -= 2 * static_cast<int64_t>(rows[e].size());
  }
  auto dominates = [&](int32_t q, int32_t p) {
    int64_t slack = node.unary[p] - node.unary[q];
    for (size_t e = 0; e < rows.size(); ++e)
      slack += rowLeast[e * values + p] - rowLeast[e * values + q];
    work -= static_cast<int64_t>(rows.size());
    if (slack < 0)
      return false;
    for (const WorkGraph::Piece &piece : node.pieces)
      if (piece.usages[q] > piece.usages[p])
        return false;
    slack = node.unary[p] - node.unary[q];
    for (size_t e = 0; e < rows.size(); ++e) {
      const int64_t *rowP = &rows[e][p * widths[e]], *rowQ = &rows[e][q * widths[e]];
      int64_t least = kInfiniteCost;
      for (int64_t y = 0; y < widths[e]; ++y) {
        if (rowP[y] >= kInfiniteCost)
          continue;
        if (rowQ[y] >= kInfiniteCost)
          return false;
        least = std::min(least, rowP[y] - rowQ[y]);
      }
      work -= widths[e];
      slack += least;
    }
    return slack >= 0;
  };
  std::vector<char> keep(values, 1);
  bool any = false;
  for (int32_t p = 0; p < values && work > 0; ++p)
    for (int32_t q = 0; q < values && keep[p]; ++q)
      if (q != p && keep[q] && dominates(q, p)) {
        keep[p] = 0;
        any = true;
      }
  if (any)
    graph.keepValues(index, keep);
}

} // namespace

void dropDominated(WorkGraph &graph) {
  int64_t work = 200'000'000;
  for (size_t i = 0; i < graph.nodes.size() && work > 0; ++i)
    if (graph.nodes[i].alive && graph.nodes[i].numValues() > 1)
      dropDominatedOf(graph, static_cast<int32_t>(i), work);
}

} // namespace dtc::solver
