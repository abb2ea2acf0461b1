// Evaluates and checks placement problems.
#include "compiler/search/solver/Problem.h"

#include <algorithm>
#include <utility>

namespace dtc::solver {
namespace {

// Adds if the sum stays below the infinite cost. All later sums of such problems then fit in 64
// bits.
bool addBelowInfinite(int64_t &sum, int64_t term) {
  if (term >= kInfiniteCost - sum)
    return false;
  sum += term;
  return true;
}

int64_t largestFinite(std::span<const int64_t> costs) {
  int64_t largest = 0;
  for (int64_t cost : costs)
    if (cost < kInfiniteCost)
      largest = std::max(largest, cost);
  return largest;
}

bool anyNegative(std::span<const int64_t> values) {
  return std::any_of(values.begin(), values.end(), [](int64_t value) { return value < 0; });
}

std::string nodeError(const ProblemNode &node, const std::string &name) {
  if (node.costs.empty())
    return name + " has no values, wanted one or more costs";
  if (node.costs.size() != node.usages.size())
    return name + " has " + std::to_string(node.costs.size()) + " costs and " +
           std::to_string(node.usages.size()) + " usages, wanted as many of both";
  if (anyNegative(node.costs) || anyNegative(node.usages))
    return name + " has a negative cost or usage, wanted 0 or more";
  return "";
}

std::string edgeError(const Problem &problem, const ProblemEdge &edge, const std::string &name) {
  const int64_t numNodes = static_cast<int64_t>(problem.nodes.size());
  for (int64_t end : {edge.a, edge.b})
    if (end < 0 || end >= numNodes)
      return name + " is at node " + std::to_string(end) + ", wanted 0 to " +
             std::to_string(numNodes - 1);
  if (edge.a == edge.b)
    return name + " joins node " + std::to_string(edge.a) + " to itself";
  if (edge.table < 0 || edge.table >= static_cast<int64_t>(problem.tables.size()))
    return name + " has no table";
  size_t wanted = problem.nodes[edge.a].costs.size() * problem.nodes[edge.b].costs.size();
  if (problem.tables[edge.table].size() != wanted)
    return name + " has " + std::to_string(problem.tables[edge.table].size()) + " costs, wanted " +
           std::to_string(wanted) + ", one for each pair of values of nodes " +
           std::to_string(edge.a) + " and " + std::to_string(edge.b);
  return "";
}

std::string sumError(const Problem &problem) {
  int64_t cost = 0, usage = 0;
  std::vector<int64_t> largest;
  for (const std::vector<int64_t> &table : problem.tables)
    largest.push_back(largestFinite(table));
  bool fits = true;
  for (const ProblemNode &node : problem.nodes) {
    fits = fits && addBelowInfinite(cost, largestFinite(node.costs));
    fits =
        fits && addBelowInfinite(usage, *std::max_element(node.usages.begin(), node.usages.end()));
  }
  for (const ProblemEdge &edge : problem.edges)
    fits = fits && addBelowInfinite(cost, largest[edge.table]);
  if (fits)
    return "";
  return "the largest costs or usages of all nodes and edges add up to 10^18 or more, wanted less";
}

} // namespace

std::string problemError(const Problem &problem) {
  if (problem.usageLimit < 0)
    return "the usage limit is " + std::to_string(problem.usageLimit) + ", wanted 0 or more";
  for (size_t i = 0; i < problem.nodes.size(); ++i)
    if (std::string error = nodeError(problem.nodes[i], "node " + std::to_string(i));
        !error.empty())
      return error;
  for (size_t t = 0; t < problem.tables.size(); ++t)
    if (anyNegative(problem.tables[t]))
      return "an edge has a negative cost, wanted 0 or more";
  for (size_t e = 0; e < problem.edges.size(); ++e)
    if (std::string error = edgeError(problem, problem.edges[e], "edge " + std::to_string(e));
        !error.empty())
      return error;
  return sumError(problem);
}

Evaluation evaluate(const Problem &problem, std::span<const int32_t> choice) {
  Evaluation result;
  bool finite = true;
  std::vector<std::pair<int64_t, int64_t>> changes; // point of time, bytes
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const ProblemNode &node = problem.nodes[i];
    int64_t cost = node.costs[choice[i]];
    finite = finite && cost < kInfiniteCost;
    result.cost += finite ? cost : 0;
    if (node.begin < node.end) {
      changes.emplace_back(node.begin, node.usages[choice[i]]);
      changes.emplace_back(node.end, -node.usages[choice[i]]);
    }
  }
  for (const ProblemEdge &edge : problem.edges) {
    size_t column = choice[edge.b], columns = problem.nodes[edge.b].costs.size();
    int64_t cost = problem.tables[edge.table][choice[edge.a] * columns + column];
    finite = finite && cost < kInfiniteCost;
    result.cost += finite ? cost : 0;
  }
  if (!finite)
    result.cost = kInfiniteCost;
  // At one point of time, ends come before begins, because negative changes sort first.
  std::sort(changes.begin(), changes.end());
  int64_t usage = 0;
  for (const auto &[time, bytes] : changes) {
    usage += bytes;
    result.peakUsage = std::max(result.peakUsage, usage);
  }
  result.usageOk = result.peakUsage <= problem.usageLimit;
  return result;
}

} // namespace dtc::solver
