// Shard geometry.
#include "runtime/base/TensorSpec.h"

#include <gtest/gtest.h>

namespace dtc::rt {
namespace {
using Shape = std::vector<uint64_t>;

TensorSpec makeSpec(Shape global, Shape local, std::vector<ShardedDim> shards) {
  TensorSpec spec;
  spec.name = "w";
  spec.globalShape = spec.storedShape = std::move(global);
  spec.localShape = std::move(local);
  spec.shards = std::move(shards);
  return spec;
}

TEST(ShardBox, LeavesPaddingToTheLastRank) {
  TensorSpec spec = makeSpec({50257, 768}, {25129, 768}, {{0, 0}});
  ASSERT_TRUE(checkTensorSpec(spec, std::vector<uint32_t>{2}).ok());
  ShardBox box;
  ASSERT_TRUE(shardBox(spec, std::vector<uint32_t>{1}, box).ok());
  EXPECT_EQ(box.begin, (Shape{25129, 0}));
  EXPECT_EQ(box.extent, (Shape{25128, 768}));
}

TEST(ShardBox, CanBeNothingButPadding) {
  // 5 over 4 ranks is 2 each: ranks 0 to 2 hold 2, 2 and 1, rank 3 nothing.
  TensorSpec spec = makeSpec({5}, {2}, {{0, 0}});
  ASSERT_TRUE(checkTensorSpec(spec, std::vector<uint32_t>{4}).ok());
  const uint64_t extents[] = {2, 2, 1, 0};
  for (uint32_t rank = 0; rank < 4; ++rank) {
    ShardBox box;
    ASSERT_TRUE(shardBox(spec, std::vector<uint32_t>{rank}, box).ok());
    EXPECT_EQ(box.extent[0], extents[rank]) << rank;
    if (extents[rank] == 0)
      forEachRun(spec, box, [](uint64_t, uint64_t, uint64_t) { FAIL() << "nothing is held"; });
  }
}

using Piece = std::tuple<uint64_t, uint64_t, uint64_t>;
std::vector<Piece> runsOf(const TensorSpec &spec, std::vector<uint32_t> coordinates) {
  ShardBox box;
  EXPECT_TRUE(shardBox(spec, coordinates, box).ok());
  std::vector<Piece> runs;
  forEachRun(spec, box, [&](uint64_t global, uint64_t local, uint64_t length) {
    runs.push_back({global, local, length});
  });
  return runs;
}

TEST(ForEachRun, MergesWholeDimensions) {
  TensorSpec rows = makeSpec({4, 3, 2}, {2, 3, 2}, {{0, 0}});
  EXPECT_EQ(runsOf(rows, {1}), (std::vector<Piece>{{12, 0, 12}}));
  TensorSpec scalar = makeSpec({}, {}, {});
  EXPECT_EQ(runsOf(scalar, {}), (std::vector<Piece>{{0, 0, 1}}));
  TensorSpec whole = makeSpec({4, 3}, {4, 3}, {});
  EXPECT_EQ(runsOf(whole, {7}), (std::vector<Piece>{{0, 0, 12}}));
}

TEST(ForEachRun, StepsOverPadding) {
  // Columns 0 1 | 2 -: rank 1 holds one column of each row and one of padding.
  TensorSpec columns = makeSpec({3, 3}, {3, 2}, {{1, 0}});
  EXPECT_EQ(runsOf(columns, {0}), (std::vector<Piece>{{0, 0, 2}, {3, 2, 2}, {6, 4, 2}}));
  EXPECT_EQ(runsOf(columns, {1}), (std::vector<Piece>{{2, 0, 1}, {5, 2, 1}, {8, 4, 1}}));
}

TEST(ForEachRun, FollowsTwoShardedDimensions) {
  TensorSpec spec = makeSpec({2, 3, 4, 2}, {2, 3, 2, 1}, {{2, 1}, {3, 0}});
  ASSERT_TRUE(checkTensorSpec(spec, std::vector<uint32_t>{2, 2}).ok());
  std::vector<Piece> runs = runsOf(spec, {1, 1});
  ASSERT_EQ(runs.size(), 12u);
  EXPECT_EQ(runs[0], (Piece{5, 0, 1}));
  EXPECT_EQ(runs[1], (Piece{7, 1, 1}));
  EXPECT_EQ(runs[2], (Piece{13, 2, 1}));
  EXPECT_EQ(runs[11], (Piece{47, 11, 1}));
}

TEST(CheckTensorSpec, NamesWhatDoesNotFit) {
  auto message = [](const TensorSpec &spec, std::vector<uint32_t> mesh) {
    return checkTensorSpec(spec, mesh).message();
  };
  EXPECT_EQ(message(makeSpec({4, 4}, {4}, {}), {2}),
            "tensor 'w' has 2 dimensions, but its local shape has 1");
  EXPECT_EQ(message(makeSpec({4}, {2}, {{1, 0}}), {2}),
            "tensor 'w' is sharded on dimension 1, but has 1 dimensions");
  EXPECT_EQ(message(makeSpec({4}, {2}, {{0, 3}}), {2}),
            "tensor 'w' is sharded over mesh axis 3, but the mesh has 1 axes");
  EXPECT_EQ(message(makeSpec({4, 4}, {2, 2}, {{0, 0}, {1, 0}}), {2}),
            "tensor 'w' shards dimension 1 over mesh axis 0, one of which it uses already");
  EXPECT_EQ(message(makeSpec({5}, {2}, {{0, 0}}), {2}),
            "tensor 'w' has local size 2 in dimension 0; wanted 3 (5 over 2)");
  EXPECT_EQ(message(makeSpec({5}, {4}, {}), {2}),
            "tensor 'w' has local size 4 in dimension 0; wanted 5 (5 over 1)");
  TensorSpec stored = makeSpec({6}, {6}, {});
  stored.storedShape = {2, 2};
  EXPECT_EQ(message(stored, {1}),
            "tensor 'w' has 6 elements, but its stored shape has another number");
  uint64_t huge = uint64_t(1) << 40;
  EXPECT_EQ(message(makeSpec({huge, huge}, {huge, huge}, {}), {1}),
            "tensor 'w' has more elements than 64 bits count");
}

TEST(MeshCoordinates, AreRowMajor) {
  EXPECT_EQ(meshCoordinates(std::vector<uint32_t>{2, 3}, 4), (std::vector<uint32_t>{1, 1}));
  EXPECT_EQ(meshCoordinates(std::vector<uint32_t>{2, 3}, 5), (std::vector<uint32_t>{1, 2}));
  EXPECT_TRUE(meshCoordinates({}, 0).empty());
}
} // namespace
} // namespace dtc::rt
