// The placement problem within a stage: one value per node, costs of nodes and of pairs of nodes,
// and memory that is limited at every point of time.
#pragma once

#include "compiler/support/Error.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace dtc::solver {

// A cost of this or more forbids the value or the pair of values.
inline constexpr int64_t kInfiniteCost = 1'000'000'000'000'000'000;

// The value of Problem::usageLimit without a limit.
inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// One decision. Value v costs costs[v]. If the node takes v, usages[v] bytes are in use at the
// points of time begin .. end - 1, and at none if end <= begin.
struct ProblemNode {
  int64_t begin = 0, end = 0;
  std::vector<int64_t> costs, usages;
};

// The pair of values (x, y) of the nodes a != b costs tables[table][x * values of b + y]. Several
// edges of one pair add up.
struct ProblemEdge {
  int32_t a = 0, b = 0;
  int32_t table = 0;
};

// Minimise the sum of the costs, with at most usageLimit bytes in use at any point of time. All
// costs and usages are 0 or more. Equal tables are stored once. Example with two nodes that prefer
// the same value:
//   Problem problem;
//   problem.nodes = {{0, 2, {0, 5}, {8, 4}}, {1, 3, {1, 0}, {8, 4}}};
//   problem.tables = {{0, kInfiniteCost, kInfiniteCost, 0}};
//   problem.edges = {{0, 1, 0}};
//   problem.usageLimit = 12; // both take value 1: cost 5, 8 bytes at time 1
struct Problem {
  std::string name;
  std::vector<ProblemNode> nodes;
  std::vector<ProblemEdge> edges;
  std::vector<std::vector<int64_t>> tables;
  int64_t usageLimit = kNoLimit;
};

// The cost and memory of an assignment.
struct Evaluation {
  int64_t cost = 0;      // kInfiniteCost if a forbidden value or pair is taken
  int64_t peakUsage = 0; // bytes in use at the worst point of time
  bool usageOk = true;   // peakUsage <= usageLimit
};

// Computes cost and memory of `choice` directly from the definition above. `choice` has one value
// per node.
Evaluation evaluate(const Problem &problem, std::span<const int32_t> choice);

// Returns an empty string, or what is wrong with the problem: sizes that do not agree, an index out
// of range, a negative cost or usage, sums that could exceed 64 bits. All solvers rely on this
// check.
std::string problemError(const Problem &problem);

} // namespace dtc::solver
