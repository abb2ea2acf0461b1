#include "compiler/search/solver/Branch.h"
#include "compiler/search/solver/Presolve.h"
#include "compiler/search/solver/Reduction.h"
#include "test/unit/solver/RandomProblem.h"

#include <gtest/gtest.h>

#include <limits>

namespace dtc::solver {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool never() { return false; }

Part everything(const Network &network) {
  return {std::vector<char>(network.unary.size(), 1), std::vector<double>(network.numTimes(), 0.0),
          std::vector<double>(network.numNodes(), 1.0), 0, 1};
}

// Starts without any knowledge. Must end with the optimum as its bound and as its best assignment.
TEST(Branch, FindsAndProvesTheOptimum) {
  int solved = 0, looked = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Problem problem = randomProblem(seed);
    std::optional<int64_t> optimum = bruteForce(problem);
    Reduction reduction = presolve(problem);
    if (!optimum || reduction.infeasible)
      continue;
    const Network &network = reduction.network;
    Branch branch(network, 0, std::vector<double>(network.numTimes(), 0.0), seed);
    double best = kInfinity;
    std::vector<int32_t> found;
    for (int round = 0; round < 10'000; ++round) {
      std::vector<Part> parts = branch.take(2, best);
      if (parts.empty())
        break;
      ASSERT_LE(safely(branch.bound()), static_cast<double>(*optimum)) << seed;
      for (Part &part : parts) {
        PartResult result = explore(network, part, branch.target(), never);
        if (result.found && result.cost < best) {
          best = result.cost;
          found = result.assignment;
        }
        branch.give(std::move(result));
        ++looked;
      }
    }
    ASSERT_EQ(best, static_cast<double>(*optimum)) << seed;
    ASSERT_NEAR(branch.bound(), best, 1e-6) << seed;
    ASSERT_EQ(plainCost(problem, reduction.lift(found)), optimum) << seed;
    ++solved;
  }
  EXPECT_GT(solved, 200);
  EXPECT_GT(looked, solved);
}

// If the time is over, the part is unchanged.
TEST(Branch, GivesPartsBackWhenTimeIsUp) {
  Reduction reduction = presolve(randomProblem(3));
  PartResult result =
      explore(reduction.network, everything(reduction.network), kInfinity, [] { return true; });
  ASSERT_EQ(result.halves.size(), 1U);
  EXPECT_EQ(result.halves[0].allowed, everything(reduction.network).allowed);
}

} // namespace
} // namespace dtc::solver
