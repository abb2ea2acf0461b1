#include "compiler/search/solver/Solver.h"
#include "test/unit/solver/LayerProblem.h"
#include "test/unit/solver/RandomProblem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace dtc::solver {
namespace {

SolveOptions small(uint64_t seed = 1) {
  SolveOptions options;
  options.seconds = 1e6; // the rounds end it
  options.seed = seed;
  options.threads = 1;
  options.rounds = 2000;
  options.roundWork = 20'000;
  return options;
}

TEST(Solver, AgreesWithEnumeration) {
  int solved = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Problem problem = randomProblem(seed);
    std::optional<int64_t> optimum = bruteForce(problem);
    SolveResult result = solve(problem, small());
    if (!optimum) {
      ASSERT_FALSE(result.feasible()) << seed;
      continue;
    }
    ASSERT_TRUE(result.feasible()) << seed;
    ASSERT_EQ(plainCost(problem, result.choice), result.cost) << seed;
    ASSERT_EQ(result.cost, *optimum) << seed;
    ASSERT_EQ(result.lowerBound, *optimum) << seed;
    ++solved;
  }
  EXPECT_GT(solved, 300);
}

TEST(Solver, SameSeedSameResultOnOneThreadAndTwo) {
  for (uint64_t seed = 1000; seed < 1040; ++seed) {
    Problem problem = randomProblem(seed);
    SolveOptions options = small(seed);
    SolveResult first = solve(problem, options), again = solve(problem, options);
    options.threads = 2;
    SolveResult two = solve(problem, options);
    ASSERT_EQ(first.choice, again.choice) << seed;
    ASSERT_EQ(first.lowerBound, again.lowerBound) << seed;
    ASSERT_EQ(first.choice, two.choice) << seed;
    ASSERT_EQ(first.lowerBound, two.lowerBound) << seed;
    ASSERT_EQ(first.rounds, two.rounds) << seed;
  }
}

// Chains with residual edges, and ladders of a forward and a backward chain, occur in planning.
TEST(Solver, ProvesLayersOptimal) {
  SolveOptions options;
  options.seconds = 1e6;
  options.threads = 1;
  options.rounds = 12;
  for (LayerShape shape : {LayerShape{30, 4}, {30, 12}, {100, 6}, {5, 4, true}, {12, 5, true}})
    for (shape.seed = 1; shape.seed <= 5; ++shape.seed) {
      Problem problem = layerProblem(shape);
      SolveResult result = solve(problem, options);
      ASSERT_TRUE(result.optimal()) << shape.layers << " seed " << shape.seed;
      ASSERT_EQ(evaluate(problem, result.choice).cost, result.cost);
      ASSERT_EQ(leastLayerCost(problem, shape), result.cost) << shape.layers << " " << shape.seed;
    }
}

TEST(Solver, ProvesLayersOptimalUnderOneLimit) {
  SolveOptions options;
  options.seconds = 1e6;
  options.threads = 1;
  options.rounds = 400;
  int bound = 0;
  for (LayerShape shape : {LayerShape{6, 4}, {8, 3}, {2, 4, true}})
    for (shape.seed = 1; shape.seed <= 8; ++shape.seed) {
      Problem problem = layerProblem(shape);
      SolveResult free = solve(problem, options);
      int64_t most = evaluate(problem, free.choice).peakUsage, least = 0;
      for (const ProblemNode &node : problem.nodes)
        least += *std::min_element(node.usages.begin(), node.usages.end());
      problem.usageLimit = least + (most - least) * 6 / 10;
      SolveResult result = solve(problem, options);
      std::optional<int64_t> optimum = leastLayerCost(problem, shape);
      if (!optimum) {
        ASSERT_FALSE(result.feasible()) << shape.layers << " seed " << shape.seed;
        continue;
      }
      ASSERT_TRUE(result.optimal()) << shape.layers << " seed " << shape.seed;
      ASSERT_EQ(*optimum, result.cost) << shape.layers << " seed " << shape.seed;
      bound += result.cost > free.cost;
    }
  EXPECT_GT(bound, 15);
}

TEST(Solver, SolvesProblemsWithoutNodesOrEdges) {
  SolveResult nothing = solve(Problem(), small());
  EXPECT_TRUE(nothing.optimal());
  EXPECT_EQ(nothing.cost, 0);
  EXPECT_EQ(nothing.gap(), 0);
  Problem single;
  single.nodes = {{0, 5, {3, 2, 4}, {1, 9, 1}}};
  single.usageLimit = 8;
  SolveResult result = solve(single, small());
  EXPECT_EQ(result.choice, (std::vector<int32_t>{0}));
  EXPECT_EQ(result.cost, 3);
  EXPECT_TRUE(result.optimal());
}

TEST(Solver, SaysThatNothingIsAllowed) {
  Problem problem;
  problem.nodes = {{0, 2, {0, 1}, {5, 4}}, {1, 3, {0, 1}, {5, 4}}};
  problem.usageLimit = 7;
  SolveResult result = solve(problem, small());
  EXPECT_FALSE(result.feasible());
  EXPECT_TRUE(result.choice.empty());
  EXPECT_EQ(result.lowerBound, kInfiniteCost);
  EXPECT_TRUE(std::isinf(result.gap()));
}

// The wall clock stops the solver, whatever the limit of rounds is.
TEST(Solver, StopsAtTheTimeLimit) {
  // Even and odd nodes compete for memory in ways that no bound closes at once.
  std::mt19937_64 random(3);
  Problem problem;
  for (int i = 0; i < 300; ++i) {
    ProblemNode node{i % 7, 400, {}, {}};
    for (int v = 0; v < 8; ++v) {
      node.costs.push_back(static_cast<int64_t>(random() % 1000));
      node.usages.push_back(static_cast<int64_t>(random() % 1000));
    }
    problem.nodes.push_back(node);
  }
  for (int e = 0; e < 2000; ++e) {
    auto a = static_cast<int32_t>(random() % 300), b = static_cast<int32_t>(random() % 300);
    if (a == b)
      continue;
    std::vector<int64_t> table(64);
    for (int64_t &cost : table)
      cost = static_cast<int64_t>(random() % 1000);
    problem.edges.push_back({a, b, static_cast<int32_t>(problem.tables.size())});
    problem.tables.push_back(table);
  }
  problem.usageLimit = 120'000;
  SolveOptions options;
  options.seconds = 0.5;
  SolveResult result = solve(problem, options);
  EXPECT_TRUE(result.feasible());
  EXPECT_GT(result.gap(), 0);
  EXPECT_LT(result.seconds, 5);
  EXPECT_EQ(evaluate(problem, result.choice).cost, result.cost);
}

} // namespace
} // namespace dtc::solver
