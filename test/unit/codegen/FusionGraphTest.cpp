#include "passes/codegen/FusionGraph.h"

#include <gtest/gtest.h>
#include <random>

using namespace dtc;

TEST(FusionGraph, RefusesToPutAGroupAroundANode) {
  FusionGraph graph(3);
  graph.addEdge(0, 1);
  graph.addEdge(1, 2);
  graph.addEdge(0, 2);
  EXPECT_FALSE(graph.merge(0, 2));
  EXPECT_TRUE(graph.merge(0, 1));
  EXPECT_TRUE(graph.merge(0, 2));
  EXPECT_EQ(graph.order(), (std::vector<std::vector<unsigned>>{{0, 1, 2}}));
}

TEST(FusionGraph, MovesUsersBehindTheGroup) {
  // 0 feeds 1, 2 is alone, and 3 joins 0, so 1 comes after both.
  FusionGraph graph(4);
  graph.addEdge(0, 1);
  EXPECT_TRUE(graph.merge(0, 3));
  EXPECT_EQ(graph.order(), (std::vector<std::vector<unsigned>>{{2}, {0, 3}, {1}}));
  EXPECT_TRUE(graph.sameGroup(0, 3));
  EXPECT_FALSE(graph.sameGroup(0, 1));
}

TEST(FusionGraph, SeesCyclesThroughEarlierMerges) {
  // 0 -> 1, 2 -> 3. If {0, 3} run as one, {1, 2} must not: 0 -> 1 and 2 -> 3 would form a cycle.
  FusionGraph graph(4);
  graph.addEdge(0, 1);
  graph.addEdge(2, 3);
  EXPECT_TRUE(graph.merge(0, 3));
  EXPECT_FALSE(graph.merge(1, 2));
}

// A merge succeeds exactly if the groups stay without a cycle, and the order respects all edges.
TEST(FusionGraph, AgreesWithSearchOnRandomGraphs) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    unsigned size = 3 + random() % 14;
    FusionGraph graph(size);
    std::vector<std::pair<unsigned, unsigned>> edges;
    for (unsigned to = 1; to < size; ++to)
      for (unsigned from = 0; from < to; ++from)
        if (random() % 4 == 0) {
          graph.addEdge(from, to);
          edges.push_back({from, to});
        }
    auto reaches = [&](unsigned a, unsigned b, bool skipDirect) {
      std::vector<bool> seen(size);
      std::vector<unsigned> stack = {graph.leader(a)};
      while (!stack.empty()) {
        unsigned at = stack.back();
        stack.pop_back();
        for (auto [from, to] : edges) {
          unsigned next = graph.leader(to);
          if (graph.leader(from) != at || next == at)
            continue;
          if (next == graph.leader(b)) {
            if (skipDirect && at == graph.leader(a))
              continue;
            return true;
          }
          if (!seen[next]) {
            seen[next] = true;
            stack.push_back(next);
          }
        }
      }
      return false;
    };
    for (int attempt = 0; attempt < 20; ++attempt) {
      unsigned a = random() % size, b = random() % size;
      bool legal = graph.sameGroup(a, b) || (!reaches(a, b, true) && !reaches(b, a, true));
      ASSERT_EQ(graph.merge(a, b), legal) << "round " << round;
      std::vector<size_t> position(size);
      auto order = graph.order();
      for (size_t i = 0; i < order.size(); ++i)
        for (unsigned node : order[i])
          position[node] = i;
      for (auto [from, to] : edges)
        ASSERT_LE(position[from], position[to]) << "round " << round;
    }
  }
}
