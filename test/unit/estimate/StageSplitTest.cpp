// Cuts of chains of layers into stages, computed by hand.
#include "compiler/price/estimate/StageSplit.h"

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

// A head takes three layers' time: with a layer beside it that stage takes 4 s, alone 3.
TEST(CutChain, GivesTheHeadAStageOfItsOwn) {
  EXPECT_EQ(cutChain({1, 1, 1, 1, 1, 1}, 3, 0, 3), (LayerChunks{{0, 2}, {3, 5}, {6, 5}}));
}

// The embedding has a stage of its own only if there are few layers.
TEST(CutChain, GivesTheEmbeddingAStageOfItsOwn) {
  EXPECT_EQ(cutChain({1, 1, 1}, 4, 2, 0), (LayerChunks{{0, -1}, {0, 0}, {1, 1}, {2, 2}}));
  EXPECT_EQ(cutChain({1, 1, 1, 1}, 3, 2, 0), (LayerChunks{{0, 0}, {1, 2}, {3, 3}}));
}

// 126 layers of Llama 3 405B in 16 x 8 chunks.
TEST(CutChain, CutsLayersIntoTwoMoreChunks) {
  LayerChunks cut = cutChain(std::vector<double>(126, 1), 128, 0.1, 0.9);
  ASSERT_EQ(cut.size(), 128u);
  EXPECT_EQ(cut.front(), (std::pair<int64_t, int64_t>(0, -1)));
  EXPECT_EQ(cut[1], (std::pair<int64_t, int64_t>(0, 0)));
  EXPECT_EQ(cut.back(), (std::pair<int64_t, int64_t>(126, 125)));
}

TEST(CutChain, KeepsALayerInEachStageBetween) {
  EXPECT_EQ(cutChain({1, 1}, 3, 1, 1), (LayerChunks{{0, 0}, {1, 1}, {2, 1}}));
  EXPECT_EQ(cutChain({1, 1}, 4, 9, 9), (LayerChunks{{0, -1}, {0, 0}, {1, 1}, {2, 1}}));
}

TEST(CutChain, FindsTheBestOfAllCuts) {
  std::mt19937 random(2);
  int alone = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<double> own(static_cast<size_t>(1 + random() % 4));
    for (double &seconds : own)
      seconds = static_cast<double>(1 + random() % 4);
    double before = static_cast<double>(random() % 6), after = static_cast<double>(random() % 8);
    auto layers = static_cast<int64_t>(own.size());
    auto slowestOf = [&](const LayerChunks &cut) {
      double slowest = 0;
      for (size_t chunk = 0; chunk < cut.size(); ++chunk) {
        double sum = (chunk == 0 ? before : 0) + (chunk + 1 == cut.size() ? after : 0);
        for (int64_t layer = cut[chunk].first; layer <= cut[chunk].second; ++layer)
          sum += own[static_cast<size_t>(layer)];
        slowest = std::max(slowest, sum);
      }
      return slowest;
    };
    double best = std::numeric_limits<double>::infinity();
    // first layers of the runs
    for (int64_t second = layers < 3 ? 0 : 1; second < layers; ++second)
      for (int64_t third = second + 1; third <= layers; ++third)
        best =
            std::min(best, slowestOf({{0, second - 1}, {second, third - 1}, {third, layers - 1}}));
    LayerChunks cut = cutChain(own, 3, before, after);
    EXPECT_EQ(slowestOf(cut), best) << "round " << round;
    EXPECT_GT(cut[1].second, cut[1].first - 1);
    alone += cut.front().second < 0 || cut.back().first == layers;
  }
  EXPECT_GT(alone, 30);
}

// The first stage holds two layers; each further layer on it takes twice as long.
double secondsWithLittleMemory(int64_t chunk, int64_t first, int64_t last) {
  int64_t layers = last - first + 1;
  return static_cast<double>(chunk == 0 ? layers + std::max<int64_t>(0, layers - 2) : layers);
}

TEST(CutByRuns, CountsWhatARunTakesAsAWhole) {
  constexpr double any = std::numeric_limits<double>::infinity();
  EXPECT_EQ(cutByRuns(7, 2, secondsWithLittleMemory, any), (LayerChunks{{0, 2}, {3, 6}}));
  // The slowest stage of that cut takes 4 s, of any other 5 s or more.
  EXPECT_TRUE(cutByRuns(7, 2, secondsWithLittleMemory, 4).empty());
  EXPECT_FALSE(cutByRuns(7, 2, secondsWithLittleMemory, 4.1).empty());
}

TEST(CutByRuns, FindsTheBestOfAllCuts) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> own(8), weight(3), alone{0, 0, 0};
    std::vector<int64_t> held(3); // number of layers
    for (double &seconds : own)
      seconds = static_cast<double>(1 + random() % 5);
    for (size_t chunk = 0; chunk < 3; ++chunk) {
      weight[chunk] = static_cast<double>(1 + random() % 3);
      held[chunk] = 1 + static_cast<int64_t>(random() % 6);
      alone[chunk] = chunk == 1 ? 0 : static_cast<double>(random() % 20);
    }
    auto seconds = [&](int64_t chunk, int64_t first, int64_t last) {
      auto stage = static_cast<size_t>(chunk);
      double sum = alone[stage];
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
    for (int64_t second = 1; second < 8; ++second)
      for (int64_t third = second + 1; third <= 8; ++third)
        best = std::min(best, slowestOf({{0, second - 1}, {second, third - 1}, {third, 7}}));
    LayerChunks cut = cutByRuns(8, 3, seconds, std::numeric_limits<double>::infinity());
    ASSERT_EQ(cut.empty(), std::isinf(best));
    if (!cut.empty())
      EXPECT_EQ(slowestOf(cut), best) << "round " << round;
  }
}

// The first of two stages takes 1 s a layer and 3 s from its third on; the second takes 2 s a layer
// and a second before.
TEST(ShareOut, GivesTheNextLayerToTheStageThatIsFastestWithIt) {
  auto seconds = [](int64_t stage, int64_t layers) {
    auto n = static_cast<double>(layers);
    return stage == 0 ? (layers > 2 ? 3 * n : n) : 1 + 2 * n;
  };
  auto share = [&](int64_t layers, std::vector<int64_t> least) {
    return shareOut(layers, std::move(least), seconds, 100);
  };
  EXPECT_EQ(share(3, {0, 0}), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(share(5, {0, 0}), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(share(6, {0, 0}), (std::vector<int64_t>{2, 4})); // 9 s either way: goes to the last
  EXPECT_EQ(share(7, {0, 0}), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(share(5, {4, 0}), (std::vector<int64_t>{4, 1}));
  // No share is below the limit: 7 layers take 9 s.
  EXPECT_TRUE(shareOut(7, {0, 0}, seconds, 9).empty());
  EXPECT_FALSE(shareOut(7, {0, 0}, seconds, 9.1).empty());
  EXPECT_TRUE(shareOut(1, {1, 1}, seconds, 100).empty());
  auto full = [](int64_t, int64_t layers) {
    return layers > 2 ? std::numeric_limits<double>::infinity() : 1.0;
  };
  EXPECT_FALSE(shareOut(4, {0, 0}, full, std::numeric_limits<double>::infinity()).empty());
  EXPECT_TRUE(shareOut(5, {0, 0}, full, std::numeric_limits<double>::infinity()).empty());
}

} // namespace
} // namespace dtc
