#include "compiler/search/solver/Bound.h"
#include "compiler/search/solver/Presolve.h"
#include "compiler/search/solver/Reduction.h"
#include "compiler/search/solver/Search.h"
#include "test/unit/solver/RandomProblem.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dtc::solver {
namespace {

TEST(Bound, IsNeverAboveTheOptimumAndOftenNearIt) {
  int close = 0, compared = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Problem problem = randomProblem(seed);
    std::optional<int64_t> optimum = bruteForce(problem);
    Reduction reduction = presolve(problem);
    if (!optimum || reduction.infeasible)
      continue;
    Bound bound(reduction.network);
    for (int i = 0; i < 200; ++i) {
      bound.iterate(static_cast<double>(*optimum));
      ASSERT_LE(bound.best(), static_cast<double>(*optimum) + 1e-6) << seed << " pass " << i;
    }
    ++compared;
    close += bound.best() > 0.95 * static_cast<double>(*optimum);
  }
  EXPECT_GT(compared, 200);
  EXPECT_GT(close, compared * 8 / 10);
}

// Returns the least cost of the network's assignments that take each value.
std::vector<double> leastByValue(const Network &network) {
  std::vector<double> least(network.unary.size(), network.forbidden);
  Search whole(network, 1);
  std::vector<int32_t> choice(network.numNodes(), 0);
  for (bool more = true; more;) {
    whole.start(choice);
    for (int32_t i = 0; i < network.numNodes(); ++i)
      if (double &of = least[network.first[i] + choice[i]]; whole.feasible())
        of = std::min(of, whole.cost());
    more = false;
    for (int32_t i = 0; i < network.numNodes() && !more; ++i) {
      more = ++choice[i] < network.values(i);
      choice[i] = more ? choice[i] : 0;
    }
  }
  return least;
}

TEST(Bound, BoundsEveryValueAndProbe) {
  int values = 0, raised = 0, higher = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Reduction reduction = presolve(randomProblem(seed));
    const Network &network = reduction.network;
    if (reduction.infeasible || network.numNodes() == 0)
      continue;
    std::vector<double> least = leastByValue(network);
    double optimum = *std::min_element(least.begin(), least.end());
    if (optimum >= network.forbidden)
      continue;
    Bound bound(network);
    for (int i = 0; i < 20; ++i)
      bound.iterate(optimum);
    double best = bound.best();
    std::vector<double> bounds = bound.valueBounds();
    for (int32_t i = 0; i < network.numNodes(); ++i)
      for (int32_t v = 0; v < network.values(i); ++v) {
        double cost = least[network.first[i] + v];
        ASSERT_LE(bounds[network.first[i] + v], cost + 1e-6) << seed << " node " << i;
        std::vector<char> only(network.values(i), 0);
        only[v] = 1;
        double probed = bound.probe(i, only, 30, 2 * optimum + 10);
        if (cost < network.forbidden)
          ASSERT_LE(probed, cost + 1e-6) << seed << " node " << i;
        ASSERT_EQ(bound.best(), best) << seed;
        ++values;
        raised += bounds[network.first[i] + v] > best + 1e-3;
        higher += probed > bounds[network.first[i] + v] + 1e-3;
      }
  }
  EXPECT_GT(values, 500);
  EXPECT_GT(raised, values / 4);
  EXPECT_GT(higher, values / 10);
}

// One of two nodes must take the small, expensive value: prices of memory find half of its cost.
TEST(Bound, PricesMemory) {
  Problem problem;
  problem.nodes = {{0, 2, {0, 10}, {8, 2}}, {0, 2, {0, 10}, {8, 2}}, {0, 2, {0, 10}, {8, 2}}};
  problem.usageLimit = 12;
  Reduction reduction = presolve(problem);
  ASSERT_FALSE(reduction.infeasible);
  Bound bound(reduction.network);
  for (int i = 0; i < 300; ++i)
    bound.iterate(20);
  // Three nodes need 24 bytes and have 12. Each 6 bytes given up cost 10, so the optimum is 20.
  EXPECT_GT(bound.best(), 19.5);
  EXPECT_LE(bound.best(), 20 + 1e-6);
}

} // namespace
} // namespace dtc::solver
