#include "test/unit/solver/LayerProblem.h"

#include <algorithm>
#include <map>
#include <random>

namespace dtc::solver {
namespace {

constexpr int kOpsPerLayer = 4;

using Trade = std::pair<int64_t, int64_t>; // bytes, cost

// Keeps only trades that no other trade beats in both, by ascending bytes.
void keepBest(std::vector<Trade> &trades) {
  std::sort(trades.begin(), trades.end());
  std::vector<Trade> kept;
  for (const Trade &trade : trades)
    if (kept.empty() || trade.second < kept.back().second)
      kept.push_back(trade);
  trades = std::move(kept);
}

} // namespace

Problem layerProblem(const LayerShape &shape) {
  std::mt19937_64 random(shape.seed);
  auto below = [&](int64_t count) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
  };
  Problem problem;
  int forward = shape.layers * kOpsPerLayer;
  int all = shape.backward ? 2 * forward : forward;
  for (int i = 0; i < all; ++i) {
    ProblemNode node{0, 1, {}, {}};
    int64_t flops = 1000 * (1 + below(8)), bytes = 100 * (1 + below(6));
    for (int v = 0; v < shape.choices; ++v) {
      node.costs.push_back(flops / (1 + v) + below(100));
      node.usages.push_back(bytes / (1 + (v * 7 + i) % shape.choices) + below(10));
    }
    problem.nodes.push_back(std::move(node));
  }
  auto join = [&](int a, int b) {
    std::vector<int64_t> table;
    int64_t bytes = 200 * (1 + below(6));
    for (int x = 0; x < shape.choices; ++x)
      for (int y = 0; y < shape.choices; ++y)
        table.push_back(x == y           ? 0
                        : below(12) == 0 ? kInfiniteCost
                                         : 50 + bytes * (x > y ? 2 : 1) / (1 + std::abs(x - y)));
    problem.edges.push_back({a, b, static_cast<int32_t>(problem.tables.size())});
    problem.tables.push_back(std::move(table));
  };
  // The backward op of op f is forward + f. It follows that of op f + 1.
  for (int f = 0; f < forward; ++f) {
    if (f > 0)
      join(f - 1, f);
    bool adds = f % kOpsPerLayer == 2 && f > 2;
    if (adds)
      join(f - 3, f);
    if (!shape.backward)
      continue;
    join(f, forward + f);
    if (f > 0)
      join(forward + f, forward + f - 1);
    if (adds)
      join(forward + f, forward + f - 3);
  }
  return problem;
}

std::optional<int64_t> leastLayerCost(const Problem &problem, const LayerShape &shape) {
  int forward = shape.layers * kOpsPerLayer;
  std::vector<int32_t> order;
  for (int f = 0; f < forward; ++f) {
    order.push_back(f);
    if (shape.backward)
      order.push_back(forward + f);
  }
  std::vector<size_t> turn(order.size());
  for (size_t k = 0; k < order.size(); ++k)
    turn[order[k]] = k;
  std::vector<size_t> closes(turn); // the turn of the last neighbour of each node
  for (const ProblemEdge &edge : problem.edges)
    for (int32_t end : {edge.a, edge.b})
      closes[end] = std::max({closes[end], turn[edge.a], turn[edge.b]});

  std::vector<int32_t> open; // the nodes of a state
  // keyed by their values
  std::map<std::vector<int32_t>, std::vector<Trade>> states{{{}, {{0, 0}}}};
  for (size_t k = 0; k < order.size(); ++k) {
    int32_t node = order[k];
    open.push_back(node);
    std::map<std::vector<int32_t>, std::vector<Trade>> next;
    for (const auto &[values, trades] : states)
      for (size_t v = 0; v < problem.nodes[node].costs.size(); ++v) {
        std::vector<int32_t> now = values;
        now.push_back(static_cast<int32_t>(v));
        auto valueOf = [&](int32_t of) {
          return now[std::find(open.begin(), open.end(), of) - open.begin()];
        };
        int64_t cost = problem.nodes[node].costs[v];
        for (const ProblemEdge &edge : problem.edges)
          if (std::max(turn[edge.a], turn[edge.b]) == k && cost < kInfiniteCost) {
            int64_t entry =
                problem.tables[edge.table][valueOf(edge.a) * shape.choices + valueOf(edge.b)];
            cost = entry >= kInfiniteCost ? kInfiniteCost : cost + entry;
          }
        if (cost >= kInfiniteCost)
          continue;
        std::vector<int32_t> left;
        for (size_t o = 0; o < open.size(); ++o)
          if (closes[open[o]] > k)
            left.push_back(now[o]);
        int64_t bytes = problem.usageLimit == kNoLimit ? 0 : problem.nodes[node].usages[v];
        for (const Trade &trade : trades)
          if (trade.first + bytes <= problem.usageLimit)
            next[left].emplace_back(trade.first + bytes, trade.second + cost);
      }
    for (auto &[values, trades] : next)
      keepBest(trades);
    std::erase_if(open, [&](int32_t of) { return closes[of] <= k; });
    states = std::move(next);
  }
  // All nodes are closed: one state is left, with the best trades, the most expensive first.
  if (states.empty() || states.begin()->second.empty())
    return std::nullopt;
  return states.begin()->second.back().second;
}

} // namespace dtc::solver
