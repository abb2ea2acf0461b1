#include "compiler/search/solver/Problem.h"
#include "test/unit/solver/RandomProblem.h"

#include <gtest/gtest.h>

namespace dtc::solver {
namespace {

Problem example() {
  Problem problem;
  problem.nodes = {{0, 2, {0, 5}, {8, 4}}, {1, 3, {1, 0}, {8, 4}}};
  problem.tables = {{0, kInfiniteCost, kInfiniteCost, 0}};
  problem.edges = {{0, 1, 0}};
  problem.usageLimit = 12;
  return problem;
}

TEST(Problem, EvaluatesCostAndPeak) {
  Evaluation small = evaluate(example(), std::vector<int32_t>{1, 1});
  EXPECT_EQ(small.cost, 5);
  EXPECT_EQ(small.peakUsage, 8);
  EXPECT_TRUE(small.usageOk);
  Evaluation large = evaluate(example(), std::vector<int32_t>{0, 0});
  EXPECT_EQ(large.cost, 1);
  EXPECT_EQ(large.peakUsage, 16);
  EXPECT_FALSE(large.usageOk);
  EXPECT_EQ(evaluate(example(), std::vector<int32_t>{0, 1}).cost, kInfiniteCost);
}

// [0, 2) and [2, 4) are never live together.
TEST(Problem, IntervalsAreHalfOpen) {
  Problem problem;
  problem.nodes = {{0, 2, {0}, {7}}, {2, 4, {0}, {7}}, {3, 3, {0}, {100}}};
  problem.usageLimit = 7;
  Evaluation result = evaluate(problem, std::vector<int32_t>{0, 0, 0});
  EXPECT_EQ(result.peakUsage, 7);
  EXPECT_TRUE(result.usageOk);
}

TEST(Problem, EvaluationAgreesWithOnePointOfTimeAfterTheOther) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Problem problem = randomProblem(seed);
    std::mt19937_64 random(seed);
    std::vector<int32_t> choice;
    for (const ProblemNode &node : problem.nodes)
      choice.push_back(static_cast<int32_t>(random() % node.costs.size()));
    Evaluation result = evaluate(problem, choice);
    std::optional<int64_t> expected = plainCost(problem, choice);
    ASSERT_EQ(expected.has_value(), result.usageOk && result.cost < kInfiniteCost) << seed;
    if (expected)
      ASSERT_EQ(*expected, result.cost) << seed;
  }
}

TEST(Problem, ChecksSizesAndSums) {
  EXPECT_EQ(problemError(example()), "");
  Problem problem = example();
  problem.nodes[1].usages.pop_back();
  EXPECT_EQ(problemError(problem), "node 1 has 2 costs and 1 usages, wanted as many of both");
  problem = example();
  problem.edges[0].b = 2;
  EXPECT_EQ(problemError(problem), "edge 0 is at node 2, wanted 0 to 1");
  problem = example();
  problem.tables[0].push_back(1);
  EXPECT_EQ(problemError(problem),
            "edge 0 has 5 costs, wanted 4, one for each pair of values of nodes 0 and 1");
  problem = example();
  problem.nodes[0].costs[0] = -1;
  EXPECT_EQ(problemError(problem), "node 0 has a negative cost or usage, wanted 0 or more");
  problem = example();
  problem.nodes[0].costs[0] = problem.nodes[1].costs[0] = kInfiniteCost - 1;
  EXPECT_EQ(
      problemError(problem),
      "the largest costs or usages of all nodes and edges add up to 10^18 or more, wanted less");
}

} // namespace
} // namespace dtc::solver
