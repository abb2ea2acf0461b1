#include "compiler/prove/verify/Segments.h"

#include <gtest/gtest.h>

namespace dtc {
namespace {

TEST(Segments, CutsMemoryWhereARangeBeginsOrEnds) {
  Segments segments;
  segments.add(0, 8);
  segments.add(4, 16);
  segments.cut();
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments.begin(1), 4);
  EXPECT_EQ(segments.end(1), 8);
  SegmentSpan first = segments.find(0, 8), second = segments.find(4, 16);
  EXPECT_EQ(first.first, 0u);
  EXPECT_EQ(first.last, 2u);
  EXPECT_EQ(second.first, 1u);
  EXPECT_EQ(second.last, 3u);
}

TEST(Segments, KeepsOneBoundOfManyAndNoneOfNothing) {
  Segments none, same;
  none.cut();
  EXPECT_EQ(none.size(), 0u);
  for (int i = 0; i < 3; ++i)
    same.add(64, 128);
  same.cut();
  ASSERT_EQ(same.size(), 1u);
  SegmentSpan span = same.find(64, 128);
  EXPECT_EQ(span.last - span.first, 1u);
}

// Neither range finds a segment that is between them.
TEST(Segments, FindsNothingOfAGap) {
  Segments segments;
  segments.add(0, 8);
  segments.add(16, 24);
  segments.cut();
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments.find(16, 24).first, 2u);
  EXPECT_EQ(segments.find(8, 16).first, 1u);
  EXPECT_EQ(segments.find(8, 8).first, segments.find(8, 8).last);
}

} // namespace
} // namespace dtc
