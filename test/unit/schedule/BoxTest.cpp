// Tests of passes/schedule/Box.
#include "passes/schedule/Box.h"

#include <gtest/gtest.h>

#include <vector>

using namespace dtc;

TEST(Box, JoinsNeighboursThatAreContiguousOnBothSides) {
  Box box{{2, 3, 4}, {24, 4, 1}, {12, 4, 1}};
  EXPECT_EQ(collapse(box), (Box{{2, 12}, {24, 1}, {12, 1}}));
}

TEST(Box, KeepsDimsThatOnlyOneSideJoins) {
  Box box{{2, 3}, {3, 1}, {8, 1}};
  EXPECT_EQ(collapse(box), box);
}

TEST(Box, DropsDimsOfSizeOne) {
  EXPECT_EQ(collapse({{1, 5, 1}, {99, 1, 7}, {3, 1, 2}}), (Box{{5}, {1}, {1}}));
  EXPECT_EQ(collapse({{1, 1}, {4, 1}, {4, 1}}), (Box{{1}, {1}, {1}}));
  EXPECT_EQ(collapse({{}, {}, {}}), (Box{{1}, {1}, {1}}));
}

// Collapsing changes only the form of a box, never the places of elements or their order.
TEST(Box, CollapsedMovesTheSameElements) {
  auto moves = [](const Box &box) {
    std::vector<std::pair<int64_t, int64_t>> result;
    for (int64_t i = 0; i < numElements(box.sizes); ++i) {
      int64_t rest = i, src = 0, dst = 0;
      for (size_t dim = box.sizes.size(); dim-- > 0; rest /= box.sizes[dim]) {
        src += rest % box.sizes[dim] * box.srcStrides[dim];
        dst += rest % box.sizes[dim] * box.dstStrides[dim];
      }
      result.emplace_back(src, dst);
    }
    return result;
  };
  const std::vector<std::vector<int64_t>> orders = {
      {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}};
  for (int64_t a : {1, 2, 3})
    for (int64_t b : {1, 2, 5})
      for (int64_t c : {1, 4})
        for (const std::vector<int64_t> &order : orders) {
          Box box = transposeBox({a, b, c}, order);
          EXPECT_EQ(moves(collapse(box)), moves(box)) << a << ' ' << b << ' ' << c;
        }
}

TEST(Box, TransposeReadsThePermutedDim) {
  EXPECT_EQ(transposeBox({2, 3}, {1, 0}), (Box{{3, 2}, {1, 3}, {2, 1}}));
}
