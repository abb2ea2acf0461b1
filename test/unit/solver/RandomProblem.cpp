#include "test/unit/solver/RandomProblem.h"

#include <algorithm>

namespace dtc::solver {

Problem randomProblem(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto below = [&](int64_t count) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
  };
  Problem problem;
  bool dense = below(3) == 0;
  int64_t numNodes = dense ? 6 : 2 + below(6), forbidden = dense ? 0 : below(50);
  int64_t peak = 0;
  for (int64_t i = 0; i < numNodes; ++i) {
    ProblemNode node;
    node.begin = dense ? below(3) : below(8);
    node.end = node.begin + (dense ? 2 + below(4) : below(6));
    int64_t values = dense ? 3 : 1 + below(4);
    for (int64_t v = 0; v < values; ++v) {
      node.costs.push_back(below(20) == 0 ? kInfiniteCost : below(30));
      node.usages.push_back(below(3) == 0 ? 0 : below(20));
    }
    peak += *std::max_element(node.usages.begin(), node.usages.end());
    problem.nodes.push_back(node);
  }
  int64_t numEdges = dense ? 2 * numNodes : below(2 * numNodes + 1);
  for (int64_t e = 0; e < numEdges; ++e) {
    auto a = static_cast<int32_t>(below(numNodes)), b = static_cast<int32_t>(below(numNodes));
    if (a == b)
      continue;
    std::vector<int64_t> table(problem.nodes[a].costs.size() * problem.nodes[b].costs.size());
    for (int64_t &cost : table)
      cost = below(100) < forbidden ? kInfiniteCost : below(30);
    problem.edges.push_back({a, b, static_cast<int32_t>(problem.tables.size())});
    problem.tables.push_back(table);
  }
  problem.usageLimit = below(8) == 0 ? kNoLimit : peak / 4 + below(peak / 2 + 1);
  return problem;
}

std::optional<int64_t> plainCost(const Problem &problem, const std::vector<int32_t> &choice) {
  int64_t cost = 0;
  for (size_t i = 0; i < choice.size(); ++i) {
    if (problem.nodes[i].costs[choice[i]] >= kInfiniteCost)
      return std::nullopt;
    cost += problem.nodes[i].costs[choice[i]];
  }
  for (const ProblemEdge &edge : problem.edges) {
    size_t columns = problem.nodes[edge.b].costs.size();
    int64_t entry = problem.tables[edge.table][choice[edge.a] * columns + choice[edge.b]];
    if (entry >= kInfiniteCost)
      return std::nullopt;
    cost += entry;
  }
  for (int64_t time = 0; time < 16; ++time) {
    int64_t usage = 0;
    for (size_t i = 0; i < choice.size(); ++i)
      if (problem.nodes[i].begin <= time && time < problem.nodes[i].end)
        usage += problem.nodes[i].usages[choice[i]];
    if (usage > problem.usageLimit)
      return std::nullopt;
  }
  return cost;
}

std::optional<int64_t> bruteForce(const Problem &problem) {
  std::optional<int64_t> best;
  std::vector<int32_t> choice(problem.nodes.size(), 0);
  for (size_t next = 0; next < choice.size();) {
    if (std::optional<int64_t> cost = plainCost(problem, choice); cost && (!best || *cost < *best))
      best = cost;
    // Counts up, with the first node changing fastest.
    for (next = 0; next < choice.size(); ++next) {
      if (++choice[next] < static_cast<int32_t>(problem.nodes[next].costs.size()))
        break;
      choice[next] = 0;
    }
  }
  return best;
}

} // namespace dtc::solver
