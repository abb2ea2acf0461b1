#include "compiler/search/solver/Forest.h"
#include "compiler/search/solver/Presolve.h"
#include "compiler/search/solver/Reduction.h"
#include "compiler/search/solver/Search.h"
#include "test/unit/solver/RandomProblem.h"

#include <gtest/gtest.h>

namespace dtc::solver {
namespace {

// 12 nodes of 4 values and about 20 edges, which is too dense for presolve to simplify.
Problem denseProblem(uint64_t seed) {
  std::mt19937_64 random(seed);
  Problem problem;
  problem.nodes.assign(12, {0, 1, std::vector<int64_t>(4), std::vector<int64_t>(4)});
  for (ProblemNode &node : problem.nodes)
    for (int64_t &cost : node.costs)
      cost = static_cast<int64_t>(random() % 20);
  for (int32_t a = 0; a < 12; ++a)
    for (int32_t b = a + 1; b < 12; ++b) {
      if (random() % 3)
        continue;
      std::vector<int64_t> table(16);
      for (int64_t &cost : table)
        cost = static_cast<int64_t>(random() % 30);
      problem.edges.push_back({a, b, static_cast<int32_t>(problem.tables.size())});
      problem.tables.push_back(table);
    }
  return problem;
}

// The forest's minimum costs no more than any other values of its nodes, with the others fixed.
TEST(Forest, FindsTheMinimum) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    Reduction reduction = presolve(denseProblem(seed));
    const Network &network = reduction.network;
    if (network.numNodes() < 4)
      continue;
    std::vector<int32_t> choice(network.numNodes(), 0);
    Forest forest(network);
    for (int32_t i = 0; i < network.numNodes(); ++i)
      if (i == 0 || random() % 3)
        forest.tryAdd(i);
    forest.prepare(network.unary, choice);
    Search whole(network, 1);
    double outside = whole.costOf(choice) - forest.costOf(choice);
    double found = forest.solve();
    std::vector<int32_t> taken = choice;
    for (size_t m = 0; m < forest.nodes().size(); ++m)
      taken[forest.nodes()[m]] = forest.value(m);
    ASSERT_EQ(forest.costOf(taken), found) << seed;
    ASSERT_EQ(whole.costOf(taken), found + outside) << seed;
    for (int trial = 0; trial < 300; ++trial) {
      std::vector<int32_t> other = choice;
      for (int32_t node : forest.nodes())
        other[node] = static_cast<int32_t>(random() % static_cast<uint64_t>(network.values(node)));
      ASSERT_LE(found, forest.costOf(other)) << seed;
    }
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

} // namespace
} // namespace dtc::solver
