// Computes the least and most memory in use at each point of time.
#include "compiler/search/solver/MemoryRules.h"

#include "compiler/search/solver/RangeMax.h"

#include <algorithm>

namespace dtc::solver {
namespace {

// Changes in the usage of the nodes on the way to each point of time, for any of their values.
struct UsageChanges {
  std::vector<char> rises, falls;

  explicit UsageChanges(const WorkGraph &graph, const std::vector<int64_t> &base)
      : rises(graph.numTimes + 1, 0), falls(graph.numTimes + 1, 0) {
    for (int32_t t = 1; t < graph.numTimes; ++t) {
      rises[t] = base[t] > base[t - 1];
      falls[t] = base[t] < base[t - 1];
    }
    for (const WorkGraph::Node &node : graph.nodes)
      for (size_t p = 0; p < node.pieces.size(); ++p)
        add(node.pieces, p);
  }

  void add(const std::vector<WorkGraph::Piece> &pieces, size_t p) {
    const WorkGraph::Piece &piece = pieces[p];
    if (p == 0 || pieces[p - 1].end != piece.begin)
      rises[piece.begin] = 1;
    if (p + 1 == pieces.size() || pieces[p + 1].begin != piece.end) {
      falls[piece.end] = 1;
      return;
    }
    for (size_t v = 0; v < piece.usages.size(); ++v) {
      int64_t change = pieces[p + 1].usages[v] - piece.usages[v];
      rises[piece.end] |= change > 0;
      falls[piece.end] |= change < 0;
    }
  }
};

// Returns the points of time at which more than the limit can be in use. Leaves out a point if
// everything in use at it is also in use at the point before or after. Pieces must be tidy.
std::vector<char> timesThatMatter(const WorkGraph &graph, const std::vector<int64_t> &base) {
  std::vector<int64_t> change(graph.numTimes + 1, 0);
  for (const WorkGraph::Node &node : graph.nodes)
    for (const WorkGraph::Piece &piece : node.pieces) {
      int64_t most = *std::max_element(piece.usages.begin(), piece.usages.end());
      change[piece.begin] += most;
      change[piece.end] -= most;
    }
  UsageChanges changes(graph, base);
  std::vector<char> keep(graph.numTimes);
  int64_t most = 0;
  for (int32_t t = 0; t < graph.numTimes; ++t) {
    most += change[t];
    // The last one of several equal points is kept.
    bool asAfter = t + 1 < graph.numTimes && !changes.falls[t + 1];
    bool asBefore = t > 0 && !changes.rises[t] && changes.falls[t];
    keep[t] = base[t] + most > graph.limit && !asAfter && !asBefore;
  }
  return keep;
}

} // namespace

void dropValuesThatOverrun(WorkGraph &graph) {
  std::vector<int64_t> base = graph.baseUsage();
  if (base.empty())
    return;
  if (*std::max_element(base.begin(), base.end()) > graph.limit) {
    graph.infeasible = true;
    return;
  }
  RangeMax worst(base);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const WorkGraph::Node &node = graph.nodes[i];
    if (node.pieces.empty())
      continue;
    std::vector<char> keep(node.numValues(), 1);
    bool any = false;
    for (const WorkGraph::Piece &piece : node.pieces) {
      int64_t room = graph.limit - worst.query(piece.begin, piece.end);
      for (int32_t v = 0; v < node.numValues(); ++v)
        if (piece.usages[v] > room) {
          keep[v] = 0;
          any = true;
        }
    }
    if (any)
      graph.keepValues(static_cast<int32_t>(i), keep);
  }
}

void dropSlackTimes(WorkGraph &graph) {
  std::vector<int64_t> base = graph.baseUsage();
  std::vector<char> keep = timesThatMatter(graph, base);
  std::vector<int32_t> position(graph.numTimes + 1, 0);
  int32_t count = 0;
  for (int32_t t = 0; t < graph.numTimes; ++t) {
    position[t] = count;
    if (!keep[t])
      continue;
    base[count] = base[t];
    graph.times[count++] = graph.times[t];
  }
  position[graph.numTimes] = count;
  if (count == graph.numTimes)
    return;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    std::vector<WorkGraph::Piece> &pieces = graph.nodes[i].pieces;
    for (WorkGraph::Piece &piece : pieces) {
      piece.begin = position[piece.begin];
      piece.end = position[piece.end];
    }
    size_t before = pieces.size();
    std::erase_if(pieces, [](const WorkGraph::Piece &piece) { return piece.begin >= piece.end; });
    if (pieces.empty() && before > 0)
      graph.markDirty(static_cast<int32_t>(i));
  }
  graph.numTimes = count;
  graph.times.resize(count);
  graph.baseChange.assign(count + 1, 0);
  for (int32_t t = 0; t < count; ++t) {
    graph.baseChange[t] += base[t];
    graph.baseChange[t + 1] -= base[t];
  }
}

} // namespace dtc::solver
