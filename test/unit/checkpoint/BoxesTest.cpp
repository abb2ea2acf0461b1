#include "runtime/checkpoint/Boxes.h"

#include "runtime/base/TensorSpec.h"

#include <gtest/gtest.h>

#include <tuple>

namespace dtc::rt {
namespace {

using Piece = std::tuple<uint64_t, uint64_t, uint64_t>;

std::vector<Piece> runsOf(std::vector<uint64_t> extent, std::vector<uint64_t> fromShape,
                          std::vector<uint64_t> fromAt, std::vector<uint64_t> toShape,
                          std::vector<uint64_t> toAt) {
  std::vector<Piece> runs;
  forEachRun(
      extent, {fromShape, std::move(fromAt)}, {toShape, std::move(toAt)},
      [&](uint64_t from, uint64_t to, uint64_t length) { runs.emplace_back(from, to, length); });
  return runs;
}

TEST(Boxes, GiveTheLongestRunsOfBothArrays) {
  EXPECT_EQ(runsOf({2, 2}, {2, 4}, {0, 2}, {2, 2}, {0, 0}),
            (std::vector<Piece>{{2, 0, 2}, {6, 2, 2}}));
  EXPECT_EQ(runsOf({2, 4}, {3, 4}, {1, 0}, {5, 4}, {3, 0}), (std::vector<Piece>{{4, 12, 8}}));
  EXPECT_EQ(runsOf({}, {}, {}, {}, {}), (std::vector<Piece>{{0, 0, 1}}));
}

TEST(Boxes, ShareWhatBothHave) {
  Box both;
  ASSERT_TRUE(intersect({{0, 2}, {4, 4}}, {{2, 0}, {9, 3}}, both));
  EXPECT_EQ(both.begin, (std::vector<uint64_t>{2, 2}));
  EXPECT_EQ(both.extent, (std::vector<uint64_t>{2, 1}));
  EXPECT_FALSE(intersect({{0, 0}, {2, 4}}, {{2, 0}, {2, 4}}, both));
}

TEST(Boxes, CoverAShapeOnceOrNot) {
  auto covers = [](std::vector<uint64_t> shape, std::vector<Box> boxes) {
    return coverOnce(shape, boxes);
  };
  EXPECT_TRUE(covers({}, {{{}, {}}}));
  EXPECT_FALSE(covers({}, {}));
  EXPECT_FALSE(covers({}, {{{}, {}}, {{}, {}}}));
  EXPECT_TRUE(covers({0, 3}, {}));
  EXPECT_TRUE(covers({4, 4}, {{{0, 2}, {4, 2}}, {{0, 0}, {2, 2}}, {{2, 0}, {2, 2}}}));
  EXPECT_FALSE(covers({4, 4}, {{{0, 2}, {4, 2}}, {{0, 0}, {2, 2}}}));
  // The number of elements is right, but one occurs twice and one is missing.
  EXPECT_FALSE(covers({4}, {{{0}, {2}}, {{1}, {1}}, {{3}, {1}}}));
}

} // namespace
} // namespace dtc::rt
