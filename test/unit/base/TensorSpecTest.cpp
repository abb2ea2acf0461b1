// Tests the geometry of shards.
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

using Mesh = std::vector<uint32_t>;

std::vector<ShardBox> boxesOf(const TensorSpec &spec, const Mesh &mesh,
                              const std::vector<uint32_t> &coordinates) {
  std::vector<ShardBox> boxes;
  EXPECT_TRUE(shardBoxes(spec, mesh, coordinates, boxes).ok());
  return boxes;
}

TEST(ShardBoxes, LeavesPaddingToTheLastRank) {
  TensorSpec spec = makeSpec({50257, 768}, {25129, 768}, {{0, 0}});
  ASSERT_TRUE(checkTensorSpec(spec, std::vector<uint32_t>{2}).ok());
  std::vector<ShardBox> boxes = boxesOf(spec, {2}, {1});
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_EQ(boxes[0].begin, (Shape{25129, 0}));
  EXPECT_EQ(boxes[0].extent, (Shape{25128, 768}));
}

TEST(ShardBoxes, CanBeNothingButPadding) {
  // 5 over 4 ranks is 2 each: ranks 0 to 2 hold 2, 2 and 1, and rank 3 nothing.
  TensorSpec spec = makeSpec({5}, {2}, {{0, 0}});
  ASSERT_TRUE(checkTensorSpec(spec, std::vector<uint32_t>{4}).ok());
  const uint64_t extents[] = {2, 2, 1, 0};
  for (uint32_t rank = 0; rank < 4; ++rank) {
    std::vector<ShardBox> boxes = boxesOf(spec, {4}, {rank});
    EXPECT_EQ(boxes[0].extent[0], extents[rank]) << rank;
    if (extents[rank] == 0)
      forEachRun(spec, boxes, [](uint64_t, uint64_t, uint64_t) { FAIL() << "nothing is held"; });
  }
}

using Piece = std::tuple<uint64_t, uint64_t, uint64_t>;
std::vector<Piece> runsOf(const TensorSpec &spec, const Mesh &mesh,
                          const std::vector<uint32_t> &coordinates) {
  std::vector<Piece> runs;
  forEachRun(spec, boxesOf(spec, mesh, coordinates),
             [&](uint64_t global, uint64_t local, uint64_t length) {
               runs.push_back({global, local, length});
             });
  return runs;
}

TEST(ForEachRun, MergesWholeDimensions) {
  TensorSpec rows = makeSpec({4, 3, 2}, {2, 3, 2}, {{0, 0}});
  EXPECT_EQ(runsOf(rows, {2}, {1}), (std::vector<Piece>{{12, 0, 12}}));
  TensorSpec scalar = makeSpec({}, {}, {});
  EXPECT_EQ(runsOf(scalar, {}, {}), (std::vector<Piece>{{0, 0, 1}}));
  TensorSpec whole = makeSpec({4, 3}, {4, 3}, {});
  EXPECT_EQ(runsOf(whole, {8}, {7}), (std::vector<Piece>{{0, 0, 12}}));
}

TEST(ForEachRun, StepsOverPadding) {
  // Columns 0 1 | 2 -: rank 1 holds one column of each row and one of padding.
  TensorSpec columns = makeSpec({3, 3}, {3, 2}, {{1, 0}});
  EXPECT_EQ(runsOf(columns, {2}, {0}), (std::vector<Piece>{{0, 0, 2}, {3, 2, 2}, {6, 4, 2}}));
  EXPECT_EQ(runsOf(columns, {2}, {1}), (std::vector<Piece>{{2, 0, 1}, {5, 2, 1}, {8, 4, 1}}));
}

TEST(ForEachRun, FollowsTwoShardedDimensions) {
  TensorSpec spec = makeSpec({2, 3, 4, 2}, {2, 3, 2, 1}, {{2, 1}, {3, 0}});
  ASSERT_TRUE(checkTensorSpec(spec, std::vector<uint32_t>{2, 2}).ok());
  std::vector<Piece> runs = runsOf(spec, {2, 2}, {1, 1});
  ASSERT_EQ(runs.size(), 12u);
  EXPECT_EQ(runs[0], (Piece{5, 0, 1}));
  EXPECT_EQ(runs[1], (Piece{7, 1, 1}));
  EXPECT_EQ(runs[2], (Piece{13, 2, 1}));
  EXPECT_EQ(runs[11], (Piece{47, 11, 1}));
}

// 10 rows over axes 1 (outer) and 0 (inner) of 2 are 3 each, so the rank at 0 of axis 1 and 1 of
// axis 0 has rows 3 to 5. All padding is at the end.
TEST(ForEachRun, FollowsTwoAxesOfOneDimension) {
  TensorSpec spec = makeSpec({10}, {3}, {{0, 1}, {0, 0}});
  ASSERT_TRUE(checkTensorSpec(spec, Mesh{2, 2}).ok());
  EXPECT_EQ(runsOf(spec, {2, 2}, {0, 0}), (std::vector<Piece>{{0, 0, 3}}));
  EXPECT_EQ(runsOf(spec, {2, 2}, {1, 0}), (std::vector<Piece>{{3, 0, 3}}));
  EXPECT_EQ(runsOf(spec, {2, 2}, {0, 1}), (std::vector<Piece>{{6, 0, 3}}));
  EXPECT_EQ(runsOf(spec, {2, 2}, {1, 1}), (std::vector<Piece>{{9, 0, 1}}));
}

// 16 places zigzag over axis 0 of 2, each of its chunks of 4 split over axis 1.
TEST(ForEachRun, FollowsTwoPieces) {
  TensorSpec spec = makeSpec({16}, {4}, {{0, 0, true}, {0, 1}});
  ASSERT_TRUE(checkTensorSpec(spec, Mesh{2, 2}).ok());
  EXPECT_EQ(runsOf(spec, {2, 2}, {0, 0}), (std::vector<Piece>{{0, 0, 2}, {12, 2, 2}}));
  EXPECT_EQ(runsOf(spec, {2, 2}, {0, 1}), (std::vector<Piece>{{2, 0, 2}, {14, 2, 2}}));
  EXPECT_EQ(runsOf(spec, {2, 2}, {1, 1}), (std::vector<Piece>{{6, 0, 2}, {10, 2, 2}}));
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
            "tensor 'w' shards dimension 1 over mesh axis 0, which it uses already");
  EXPECT_EQ(message(makeSpec({5}, {2}, {{0, 0}}), {2}),
            "tensor 'w' has local size 2 in dimension 0; wanted 3 (5 over 2)");
  EXPECT_EQ(message(makeSpec({5}, {4}, {}), {2}),
            "tensor 'w' has local size 4 in dimension 0; wanted 5 (5 over 1)");
  EXPECT_EQ(message(makeSpec({8}, {2}, {{0, 0, true}, {0, 1, true}}), {2, 2}),
            "tensor 'w' shards dimension 0 zigzag over two mesh axes; wanted one at most");
  TensorSpec stored = makeSpec({6}, {6}, {});
  stored.storedShape = {2, 2};
  EXPECT_EQ(message(stored, {1}),
            "tensor 'w' has 6 elements, but its stored shape has another number");
  uint64_t huge = uint64_t(1) << 40;
  EXPECT_EQ(message(makeSpec({huge, huge}, {huge, huge}, {}), {1}),
            "tensor 'w' has more elements than 64 bits count");
}
} // namespace
} // namespace dtc::rt
