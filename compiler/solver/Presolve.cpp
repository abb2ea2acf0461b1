// The rules of the exact presolve and their repetition to a fix-point.
#include "compiler/solver/Presolve.h"

#include "compiler/solver/RangeMax.h"

#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <unordered_map>

namespace dtc::solver {
namespace {

// What changes in the usage of the nodes when time gets to each point, whatever their values.
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

// Points of time at which more than the limit can be in use, but for those at which whatever is in
// use is so at the point before or after as well. Pieces are tidy.
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
    // Of points that are all alike, the last one stays.
    bool asAfter = t + 1 < graph.numTimes && !changes.falls[t + 1];
    bool asBefore = t > 0 && !changes.rises[t] && changes.falls[t];
    keep[t] = base[t] + most > graph.limit && !asAfter && !asBefore;
  }
  return keep;
}

// Both orders of a table, each stored once for all edges that have it.
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

// More than all finite costs together, those already decided included.
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

class Presolver {
public:
  explicit Presolver(WorkGraph start) : graph(std::move(start)) {}

  // 1. Rules 1 to 4 wherever something changed. 2. Memory: profiles, values that can't fit, points
  // of time that can't matter. 3. Dominated values. Again, while any of these found something.
  Reduction reduction() {
    Reduction result;
    result.originalNodes = static_cast<int32_t>(graph.nodes.size());
    run();
    result.infeasible = graph.infeasible;
    if (graph.infeasible)
      return result;
    flatten(graph, result);
    result.removals = std::move(graph.removals);
    result.times = std::move(graph.times);
    return result;
  }

private:
  void run() {
    for (int sweep = 0; sweep < kMaxSweeps && !graph.infeasible; ++sweep) {
      drainQueue();
      if (graph.infeasible)
        return;
      tidyAll();
      pruneByMemory();
      if (graph.infeasible)
        return;
      tidyAll();
      dropSlackTimes();
      dropDominated();
      queueFreeOfMemory();
      if (graph.queue.empty())
        return;
    }
    drainQueue();
    if (!graph.infeasible)
      tidyAll();
  }

  static constexpr int kMaxSweeps = 20;

  void drainQueue();
  bool dropUnsupported(int32_t node);
  bool fixSingle(int32_t node);
  bool simplifyEdges(int32_t node);
  bool foldSeparable(int32_t edge);
  bool mergeFunctional(int32_t edge);
  bool isFunction(const WorkGraph::Edge &edge, int32_t from, std::vector<int32_t> &partner) const;
  void mergeInto(int32_t edge, int32_t stay, const std::vector<int32_t> &partner);
  bool minimiseOut(int32_t node);
  void tidyAll();
  void pruneByMemory();
  void dropSlackTimes();
  void dropDominated();
  bool dropDominatedOf(int32_t node);
  void queueFreeOfMemory();

  WorkGraph graph;
  int64_t dominanceWork = 0;
};

void Presolver::drainQueue() {
  while (!graph.queue.empty() && !graph.infeasible) {
    int32_t node = graph.queue.front();
    graph.queue.pop_front();
    graph.queued[node] = 0;
    if (!graph.nodes[node].alive)
      continue;
    if (dropUnsupported(node) || graph.infeasible || fixSingle(node) || simplifyEdges(node))
      continue;
    minimiseOut(node);
  }
}

// Rule 1. True where values went; the node is then queued again.
bool Presolver::dropUnsupported(int32_t index) {
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

// Rule 2 for nodes: the costs of the one value go to the neighbours.
bool Presolver::fixSingle(int32_t index) {
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

// Rules 2 and 3 on the edges that changed. True where the node is gone or will be looked at again.
bool Presolver::simplifyEdges(int32_t index) {
  std::vector<int32_t> list = graph.nodes[index].edges;
  for (int32_t e : list) {
    WorkGraph::Edge &edge = graph.edges[e];
    if (!edge.alive || !edge.dirty)
      continue;
    // Support of the far end is still open: its turn comes first.
    if (graph.queued[edge.other(index)])
      continue;
    if (foldSeparable(e))
      continue;
    if (mergeFunctional(e))
      return true;
    graph.edges[e].dirty = false;
  }
  return false;
}

// Table[x][y] = f(x) + g(y) everywhere: no edge is needed.
bool Presolver::foldSeparable(int32_t e) {
  const WorkGraph::Edge &edge = graph.edges[e];
  const WorkGraph::Table &table = *edge.table;
  WorkGraph::Node &a = graph.nodes[edge.a], &b = graph.nodes[edge.b];
  auto columns = static_cast<size_t>(b.numValues());
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i] >= kInfiniteCost ||
        table[i] - table[i % columns] != table[i - i % columns] - table[0])
      return false;
  // f takes the first column less its least entry, so that no unary cost gets negative.
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

bool Presolver::isFunction(const WorkGraph::Edge &edge, int32_t from,
                           std::vector<int32_t> &partner) const {
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

// Rule 3: the end that follows from the other goes. Where both follow, the one with less to move
// goes.
bool Presolver::mergeFunctional(int32_t e) {
  const WorkGraph::Edge &edge = graph.edges[e];
  auto weight = [&](int32_t node) {
    return graph.nodes[node].edges.size() + graph.nodes[node].pieces.size();
  };
  int32_t heavy = weight(edge.a) >= weight(edge.b) ? edge.a : edge.b;
  std::vector<int32_t> partner;
  for (int32_t stay : {heavy, edge.other(heavy)})
    if (isFunction(edge, stay, partner)) {
      mergeInto(e, stay, partner);
      return true;
    }
  return false;
}

void Presolver::mergeInto(int32_t e, int32_t stay, const std::vector<int32_t> &partner) {
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

// Rule 4, for a node without memory that matters.
bool Presolver::minimiseOut(int32_t index) {
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

void Presolver::tidyAll() {
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].alive && graph.nodes[i].piecesChanged)
      graph.tidyPieces(static_cast<int32_t>(i));
}

// Rule 1 for memory: all other nodes use at least base.
void Presolver::pruneByMemory() {
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

// Drops points of time that can't be the only one to overrun.
void Presolver::dropSlackTimes() {
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

// Rule 5, with a limit on the work per sweep, as nodes of many values take long.
void Presolver::dropDominated() {
  dominanceWork = 200'000'000;
  for (size_t i = 0; i < graph.nodes.size() && dominanceWork > 0; ++i)
    if (graph.nodes[i].alive && graph.nodes[i].numValues() > 1)
      dropDominatedOf(static_cast<int32_t>(i));
}

bool Presolver::dropDominatedOf(int32_t index) {
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
    dominanceWork -= 2 * static_cast<int64_t>(rows[e].size());
  }
  auto dominates = [&](int32_t q, int32_t p) {
    int64_t slack = node.unary[p] - node.unary[q];
    for (size_t e = 0; e < rows.size(); ++e)
      slack += rowLeast[e * values + p] - rowLeast[e * values + q];
    dominanceWork -= static_cast<int64_t>(rows.size());
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
      dominanceWork -= widths[e];
      slack += least;
    }
    return slack >= 0;
  };
  std::vector<char> keep(values, 1);
  bool any = false;
  for (int32_t p = 0; p < values && dominanceWork > 0; ++p)
    for (int32_t q = 0; q < values && keep[p]; ++q)
      if (q != p && keep[q] && dominates(q, p)) {
        keep[p] = 0;
        any = true;
      }
  if (any)
    graph.keepValues(index, keep);
  return any;
}

// A node that lost its last piece since it was looked at may now be minimised out.
void Presolver::queueFreeOfMemory() {
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].alive && graph.nodes[i].pieces.empty() && graph.nodes[i].edges.size() <= 1)
      graph.markDirty(static_cast<int32_t>(i));
}

} // namespace

std::vector<int32_t> Reduction::lift(std::span<const int32_t> choice) const {
  std::vector<int32_t> result(originalNodes, 0);
  for (size_t i = 0; i < kept.size(); ++i)
    result[kept[i]] = origin[i][choice[i]];
  for (auto it = removals.rbegin(); it != removals.rend(); ++it) {
    int32_t row = it->a >= 0 ? it->rowOf[result[it->a]] : 0;
    int32_t column = it->b >= 0 ? it->columnOf[result[it->b]] : 0;
    result[it->node] = it->values[static_cast<size_t>(row) * it->columns + column];
  }
  return result;
}

Reduction presolve(const Problem &problem) { return Presolver(WorkGraph(problem)).reduction(); }

Reduction presolve(const Network &network, std::span<const char> allowed) {
  return Presolver(WorkGraph(network, allowed)).reduction();
}

} // namespace dtc::solver
