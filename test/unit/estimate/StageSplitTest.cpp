// Chains of layers cut into stages, by hand.
#include "compiler/estimate/StageSplit.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>

namespace dtc {
namespace {

TEST(CutEvenly, GivesEachChunkAsManyLayers) {
  EXPECT_EQ(cutEvenly(8, 4), (LayerChunks{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
}

TEST(CutEvenly, CountsEmbeddingAndHeadWhereOnlyThatDivides) {
  EXPECT_EQ(cutEvenly(6, 4), (LayerChunks{{0, 0}, {1, 2}, {3, 4}, {5, 5}}));
}

TEST(CutEvenly, GivesWhatIsLeftToTheFirstChunks) {
  EXPECT_EQ(cutEvenly(7, 4), (LayerChunks{{0, 1}, {2, 3}, {4, 5}, {6, 6}}));
}

TEST(CutChain, LevelsEqualLayers) {
  EXPECT_EQ(cutChain({1, 1, 1, 1}, 2, 0, 0), (LayerChunks{{0, 1}, {2, 3}}));
}

// 6 layers and a head worth 2 of them on 2 stages: 4 layers against 2 and the head.
TEST(CutChain, GivesTheHeadsStageFewerLayers) {
  EXPECT_EQ(cutChain({1, 1, 1, 1, 1, 1}, 2, 0, 2), (LayerChunks{{0, 3}, {4, 5}}));
}

TEST(CutChain, KeepsALayerInEachStage) {
  EXPECT_EQ(cutChain({1, 1}, 2, 0, 100), (LayerChunks{{0, 0}, {1, 1}}));
}

// The first stage holds two layers; each more of it takes twice as long.
double secondsWithLittleMemory(int64_t chunk, int64_t first, int64_t last) {
  int64_t layers = last - first + 1;
  return static_cast<double>(chunk == 0 ? layers + std::max<int64_t>(0, layers - 2) : layers);
}

TEST(CutByRuns, CountsWhatARunTakesAsAWhole) {
  constexpr double any = std::numeric_limits<double>::infinity();
  EXPECT_EQ(cutByRuns(7, 2, secondsWithLittleMemory, any), (LayerChunks{{0, 2}, {3, 6}}));
  // The slowest of that takes 4 s, of any other 5 or more.
  EXPECT_TRUE(cutByRuns(7, 2, secondsWithLittleMemory, 4).empty());
  EXPECT_FALSE(cutByRuns(7, 2, secondsWithLittleMemory, 4.1).empty());
}

TEST(CutByRuns, FindsTheBestOfAllCuts) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> own(8), weight(3);
    std::vector<int64_t> held(3); // layers
    for (double &seconds : own)
      seconds = static_cast<double>(1 + random() % 5);
    for (size_t chunk = 0; chunk < 3; ++chunk) {
      weight[chunk] = static_cast<double>(1 + random() % 3);
      held[chunk] = 1 + static_cast<int64_t>(random() % 6);
    }
    auto seconds = [&](int64_t chunk, int64_t first, int64_t last) {
      auto stage = static_cast<size_t>(chunk);
      double sum = 0;
      for (int64_t layer = first; layer <= last; ++layer)
        sum += weight[stage] * own[static_cast<size_t>(layer)] *
               static_cast<double>(1 + layer - first);
      return last - first < held[stage] ? sum : std::numeric_limits<double>::infinity();
    };
    auto slowestOf = [&](const LayerChunks &cut) {
      double slowest = 0;
      for (size_t chunk = 0; chunk < cut.size(); ++chunk)
        slowest = std::max(
            slowest, seconds(static_cast<int64_t>(chunk), cut[chunk].first, cut[chunk].second));
      return slowest;
    };
    double best = std::numeric_limits<double>::infinity();
    for (int64_t second = 1; second < 7; ++second)
      for (int64_t third = second + 1; third < 8; ++third)
        best = std::min(best, slowestOf({{0, second - 1}, {second, third - 1}, {third, 7}}));
    LayerChunks cut = cutByRuns(8, 3, seconds, std::numeric_limits<double>::infinity());
    ASSERT_EQ(cut.empty(), std::isinf(best));
    if (!cut.empty())
      EXPECT_EQ(slowestOf(cut), best) << "round " << round;
  }
}

} // namespace
} // namespace dtc
