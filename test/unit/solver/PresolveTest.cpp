#include "compiler/search/solver/Presolve.h"
#include "compiler/search/solver/Reduction.h"
#include "test/unit/solver/RandomProblem.h"

#include <gtest/gtest.h>

namespace dtc::solver {
namespace {

// Returns the least cost of the network by enumeration, and the assignment that has it.
std::optional<double> bestOf(const Network &network, std::vector<int32_t> &best) {
  std::optional<double> least;
  std::vector<int32_t> choice(network.numNodes(), 0);
  for (bool more = true; more;) {
    double cost = network.constant;
    std::vector<int64_t> left = network.capacity;
    for (int32_t i = 0; i < network.numNodes(); ++i) {
      cost += network.unary[network.first[i] + choice[i]];
      for (const Network::Neighbour &neighbour : network.neighboursOf(i))
        if (neighbour.node > i)
          cost +=
              neighbour.rows[choice[i] * network.values(neighbour.node) + choice[neighbour.node]];
      for (const Network::Piece &piece : network.piecesOf(i))
        for (int32_t t = piece.begin; t < piece.end; ++t)
          left[t] -= network.usages[piece.offset + choice[i]];
    }
    bool fits = std::all_of(left.begin(), left.end(), [](int64_t bytes) { return bytes >= 0; });
    if (fits && cost < network.forbidden && (!least || cost < *least)) {
      least = cost;
      best = choice;
    }
    more = false;
    for (int32_t i = 0; i < network.numNodes() && !more; ++i) {
      more = ++choice[i] < network.values(i);
      choice[i] = more ? choice[i] : 0;
    }
  }
  return least;
}

TEST(Presolve, KeepsTheOptimum) {
  int infeasible = 0, smaller = 0, withMemory = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Problem problem = randomProblem(seed);
    std::optional<int64_t> expected = bruteForce(problem);
    Reduction reduction = presolve(problem);
    std::vector<int32_t> best;
    std::optional<double> found;
    if (!reduction.infeasible)
      found = bestOf(reduction.network, best);
    ASSERT_EQ(expected.has_value(), found.has_value()) << seed;
    infeasible += !expected;
    smaller += reduction.network.numNodes() < static_cast<int32_t>(problem.nodes.size());
    withMemory += reduction.network.numTimes() > 0;
    if (!expected)
      continue;
    ASSERT_EQ(static_cast<double>(*expected), *found) << seed;
    std::vector<int32_t> lifted = reduction.lift(best);
    ASSERT_EQ(plainCost(problem, lifted), expected) << seed;
  }
  // There must be problems of every kind.
  EXPECT_GT(infeasible, 50);
  EXPECT_LT(infeasible, 500);
  EXPECT_GT(smaller, 500);
  EXPECT_GT(withMemory, 100);
}

// Both ends of an edge that requires equal values become one node, with the usage of both.
TEST(Presolve, MergesWhatFollows) {
  Problem problem;
  problem.nodes = {{0, 2, {0, 5}, {8, 4}}, {1, 3, {1, 0}, {8, 4}}};
  problem.tables = {{0, kInfiniteCost, kInfiniteCost, 0}};
  problem.edges = {{0, 1, 0}};
  problem.usageLimit = 12;
  Reduction reduction = presolve(problem);
  ASSERT_FALSE(reduction.infeasible);
  EXPECT_EQ(reduction.network.numNodes(),
            0); // value 0 of both never fits, so nothing is left to choose
  EXPECT_EQ(reduction.network.constant, 5);
  EXPECT_EQ(reduction.lift({}), (std::vector<int32_t>{1, 1}));
}

TEST(Presolve, ProvesThatNothingFits) {
  Problem problem;
  problem.nodes = {{0, 2, {0}, {5}}, {0, 2, {0, 1}, {6, 5}}};
  problem.usageLimit = 9;
  EXPECT_TRUE(presolve(problem).infeasible);
  problem.usageLimit = 10;
  EXPECT_FALSE(presolve(problem).infeasible);
}

} // namespace
} // namespace dtc::solver
