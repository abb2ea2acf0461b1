// Tests groups of ranks on a mesh.
#include "compiler/price/cost/MeshGroups.h"

#include <gtest/gtest.h>

namespace dtc {
namespace {

std::vector<std::pair<int64_t, int64_t>> partOf(const RankGroup &group, int64_t size,
                                                int64_t stride) {
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (const RankSpan &span : partOfGroup(group, size, stride))
    spans.emplace_back(span.size, span.stride);
  return spans;
}

using Spans = std::vector<std::pair<int64_t, int64_t>>;

TEST(PartOfGroup, TakesEveryNthRank) {
  RankGroup eight{{8, 4}};
  EXPECT_EQ(partOf(eight, 2, 1), (Spans{{2, 4}}));
  EXPECT_EQ(partOf(eight, 4, 2), (Spans{{4, 8}}));
  EXPECT_EQ(partOf(eight, 8, 1), (Spans{{8, 4}}));
}

TEST(PartOfGroup, GoesOverSpans) {
  RankGroup group{{2, 1}, {4, 2}};
  EXPECT_EQ(partOf(group, 2, 2), (Spans{{2, 2}}));
  EXPECT_EQ(partOf(group, 4, 1), (Spans{{2, 1}, {2, 2}}));
  EXPECT_EQ(partOf(group, 2, 4), (Spans{{2, 4}}));
}

} // namespace
} // namespace dtc
