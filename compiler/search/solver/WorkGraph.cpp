// Rewrites the problem and keeps its edges, profiles and records consistent.
#include "compiler/search/solver/WorkGraph.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>

namespace dtc::solver {
namespace {

// Returns the points of time that matter: those at which something has begun and something ends
// next. Whatever is live at another point is live at one of these.
std::vector<int64_t> maximalTimes(const Problem &problem) {
  std::vector<std::pair<int64_t, int>> events; // time, 0: an end, 1: a begin
  for (const ProblemNode &node : problem.nodes)
    if (node.begin < node.end) {
      events.emplace_back(node.begin, 1);
      events.emplace_back(node.end, 0);
    }
  std::sort(events.begin(), events.end());
  std::vector<int64_t> times;
  for (size_t i = 0; i + 1 < events.size(); ++i)
    if (events[i].second == 1 && events[i + 1].second == 0)
      times.push_back(events[i].first);
  return times;
}

} // namespace

WorkGraph::WorkGraph(const Problem &problem) : limit(problem.usageLimit) {
  std::vector<int64_t> points;
  if (limit != kNoLimit)
    points = maximalTimes(problem);
  numTimes = static_cast<int32_t>(points.size());
  times.resize(numTimes);
  std::iota(times.begin(), times.end(), 0);
  baseChange.assign(numTimes + 1, 0);
  auto indexOf = [&](int64_t time) {
    return static_cast<int32_t>(std::lower_bound(points.begin(), points.end(), time) -
                                points.begin());
  };
  nodes.resize(problem.nodes.size());
  queued.assign(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const ProblemNode &from = problem.nodes[i];
    Node &node = nodes[i];
    node.unary = from.costs;
    node.origin.resize(from.costs.size());
    for (size_t v = 0; v < from.costs.size(); ++v) {
      node.origin[v] = static_cast<int32_t>(v);
      node.unary[v] = std::min(node.unary[v], kInfiniteCost);
    }
    if (int32_t begin = indexOf(from.begin), end = indexOf(from.end); begin < end)
      node.pieces.push_back({begin, end, from.usages});
    markDirty(static_cast<int32_t>(i));
  }
  std::vector<std::shared_ptr<const Table>> tables;
  for (const std::vector<int64_t> &table : problem.tables)
    tables.push_back(std::make_shared<const Table>(table));
  std::map<std::pair<int32_t, int32_t>, int32_t> known;
  for (const ProblemEdge &from : problem.edges) {
    auto [it, isNew] = known.try_emplace(std::minmax(from.a, from.b), edges.size());
    if (isNew) {
      nodes[from.a].edges.push_back(static_cast<int32_t>(edges.size()));
      nodes[from.b].edges.push_back(static_cast<int32_t>(edges.size()));
      edges.push_back({from.a, from.b, true, true, tables[from.table]});
    } else {
      addTable(from.a, from.b, *tables[from.table]);
    }
  }
}

WorkGraph::WorkGraph(const Network &network, std::span<const char> allowed)
    : numTimes(network.numTimes()),
      limit(numTimes == 0 ? kNoLimit
                          : *std::max_element(network.capacity.begin(), network.capacity.end())),
      constant(static_cast<int64_t>(network.constant)) {
  times.resize(numTimes);
  std::iota(times.begin(), times.end(), 0);
  baseChange.assign(numTimes + 1, 0);
  for (int32_t t = 0; t < numTimes; ++t) {
    baseChange[t] += limit - network.capacity[t];
    baseChange[t + 1] -= limit - network.capacity[t];
  }
  auto whole = [&](double cost) {
    return cost >= network.forbidden ? kInfiniteCost : static_cast<int64_t>(cost);
  };
  nodes.resize(network.numNodes());
  queued.assign(nodes.size(), 0);
  std::map<const double *, std::shared_ptr<const Table>> tables;
  for (int32_t i = 0; i < network.numNodes(); ++i) {
    Node &node = nodes[i];
    for (int32_t v = 0; v < network.values(i); ++v) {
      node.unary.push_back(allowed[network.first[i] + v]
                               ? whole(network.unary[network.first[i] + v])
                               : kInfiniteCost);
      node.origin.push_back(v);
    }
    for (const Network::Piece &piece : network.piecesOf(i)) {
      auto usages = network.usages.begin() + piece.offset;
      node.pieces.push_back({piece.begin, piece.end, {usages, usages + network.values(i)}});
    }
    for (const Network::Neighbour &neighbour : network.neighboursOf(i)) {
      if (neighbour.node < i)
        continue;
      auto [it, isNew] = tables.try_emplace(neighbour.rows);
      if (isNew) {
        int64_t size = static_cast<int64_t>(network.values(i)) * network.values(neighbour.node);
        Table table(size);
        std::transform(neighbour.rows, neighbour.rows + size, table.begin(), whole);
        it->second = std::make_shared<const Table>(std::move(table));
      }
      node.edges.push_back(static_cast<int32_t>(edges.size()));
      nodes[neighbour.node].edges.push_back(static_cast<int32_t>(edges.size()));
      edges.push_back({i, neighbour.node, true, true, it->second});
    }
    markDirty(i);
  }
}

void WorkGraph::markDirty(int32_t node) {
  if (queued[node] || !nodes[node].alive)
    return;
  queued[node] = 1;
  queue.push_back(node);
}

WorkGraph::Table WorkGraph::rowsFor(const Edge &edge, int32_t node) const {
  if (node == edge.a)
    return *edge.table;
  int32_t rows = nodes[edge.b].numValues(), columns = nodes[edge.a].numValues();
  Table result(edge.table->size());
  for (int32_t y = 0; y < columns; ++y)
    for (int32_t x = 0; x < rows; ++x)
      result[static_cast<size_t>(x) * columns + y] =
          (*edge.table)[static_cast<size_t>(y) * rows + x];
  return result;
}

void WorkGraph::addTable(int32_t a, int32_t b, Table table) {
  const Node &fewer = nodes[a].edges.size() <= nodes[b].edges.size() ? nodes[a] : nodes[b];
  for (int32_t e : fewer.edges) {
    Edge &edge = edges[e];
    if ((edge.a != a || edge.b != b) && (edge.a != b || edge.b != a))
      continue;
    Table sum = rowsFor(edge, a);
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] = addCosts(sum[i], table[i]);
    edge.a = a;
    edge.b = b;
    edge.table = std::make_shared<const Table>(std::move(sum));
    edge.dirty = true;
    markDirty(a);
    markDirty(b);
    return;
  }
  nodes[a].edges.push_back(static_cast<int32_t>(edges.size()));
  nodes[b].edges.push_back(static_cast<int32_t>(edges.size()));
  edges.push_back({a, b, true, true, std::make_shared<const Table>(std::move(table))});
  markDirty(a);
  markDirty(b);
}

void WorkGraph::dropEdge(int32_t edge) {
  edges[edge].alive = false;
  edges[edge].table.reset();
  for (int32_t node : {edges[edge].a, edges[edge].b}) {
    std::vector<int32_t> &list = nodes[node].edges;
    list.erase(std::find(list.begin(), list.end(), edge));
    markDirty(node);
  }
}

void WorkGraph::keepValues(int32_t index, const std::vector<char> &keep) {
  Node &node = nodes[index];
  std::vector<int32_t> kept;
  for (int32_t v = 0; v < node.numValues(); ++v)
    if (keep[v])
      kept.push_back(v);
  for (int32_t e : node.edges) {
    Edge &edge = edges[e];
    Table table;
    int32_t columns = nodes[edge.b].numValues();
    table.reserve(kept.size() * nodes[edge.other(index)].unary.size());
    if (index == edge.a) {
      for (int32_t v : kept)
        table.insert(table.end(), edge.table->begin() + static_cast<int64_t>(v) * columns,
                     edge.table->begin() + static_cast<int64_t>(v + 1) * columns);
    } else {
      for (int32_t x = 0; x < nodes[edge.a].numValues(); ++x)
        for (int32_t v : kept)
          table.push_back((*edge.table)[static_cast<size_t>(x) * columns + v]);
    }
    edge.table = std::make_shared<const Table>(std::move(table));
    edge.dirty = true;
    markDirty(edge.other(index));
  }
  auto compact = [&](auto &list) {
    for (size_t i = 0; i < kept.size(); ++i)
      list[i] = list[kept[i]];
    list.resize(kept.size());
  };
  compact(node.unary);
  compact(node.origin);
  for (Piece &piece : node.pieces)
    compact(piece.usages);
  node.piecesChanged = true;
  infeasible = infeasible || kept.empty();
  markDirty(index);
}

void WorkGraph::dropNode(int32_t index, Removal removal) {
  std::vector<int32_t> list = nodes[index].edges;
  for (int32_t e : list)
    dropEdge(e);
  removals.push_back(std::move(removal));
  nodes[index] = Node();
  nodes[index].alive = false;
}

void WorkGraph::tidyPieces(int32_t index) {
  Node &node = nodes[index];
  node.piecesChanged = false;
  if (node.pieces.empty())
    return;
  std::vector<std::pair<int32_t, int32_t>>
      events; // time, piece + 1 at its begin, -(piece + 1) at its end
  for (size_t p = 0; p < node.pieces.size(); ++p) {
    events.emplace_back(node.pieces[p].begin, static_cast<int32_t>(p) + 1);
    events.emplace_back(node.pieces[p].end, -static_cast<int32_t>(p) - 1);
  }
  std::sort(events.begin(), events.end());
  std::vector<Piece> tidy;
  std::vector<int64_t> sum(node.numValues(), 0), above(node.numValues());
  for (size_t i = 0; i < events.size(); ++i) {
    const std::vector<int64_t> &usages = node.pieces[std::abs(events[i].second) - 1].usages;
    for (size_t v = 0; v < sum.size(); ++v)
      sum[v] += events[i].second > 0 ? usages[v] : -usages[v];
    if (i + 1 == events.size() || events[i + 1].first == events[i].first)
      continue;
    int64_t least = *std::min_element(sum.begin(), sum.end());
    baseChange[events[i].first] += least;
    baseChange[events[i + 1].first] -= least;
    bool flat = true;
    for (size_t v = 0; v < sum.size(); ++v) {
      above[v] = sum[v] - least;
      flat = flat && above[v] == 0;
    }
    if (flat)
      continue;
    if (!tidy.empty() && tidy.back().end == events[i].first && tidy.back().usages == above)
      tidy.back().end = events[i + 1].first;
    else
      tidy.push_back({events[i].first, events[i + 1].first, above});
  }
  node.pieces = std::move(tidy);
}

std::vector<int64_t> WorkGraph::baseUsage() const {
  std::vector<int64_t> usage(numTimes);
  int64_t sum = 0;
  for (int32_t t = 0; t < numTimes; ++t)
    usage[t] = sum += baseChange[t];
  return usage;
}

} // namespace dtc::solver
