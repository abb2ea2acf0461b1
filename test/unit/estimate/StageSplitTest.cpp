// Chains of layers cut into stages, by hand.
#include "compiler/estimate/StageSplit.h"

#include "gtest/gtest.h"

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

} // namespace
} // namespace dtc
