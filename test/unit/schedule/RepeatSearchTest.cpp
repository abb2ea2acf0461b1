// Tests the search for parts of a list that repeat several times in a row.
#include "passes/schedule/RepeatSearch.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <string>

using namespace dtc;

namespace {
// Returns items of the kinds that letters name, each with one number.
std::vector<ListItem> listOf(const std::string &kinds, const std::vector<int64_t> &numbers) {
  std::vector<ListItem> items;
  for (auto [kind, number] : llvm::zip_equal(kinds, numbers))
    items.push_back({static_cast<unsigned>(kind), {number}});
  return items;
}
std::vector<ListItem> listOf(const std::string &kinds) {
  return listOf(kinds, std::vector<int64_t>(kinds.size()));
}

// Returns "1+2x3" for 3 times the two items from 1 on.
std::string found(const std::vector<ListItem> &items, unsigned minSaved = 1) {
  std::string text;
  for (const FoundRepeat &each : findRepeats(items, minSaved))
    text += (text.empty() ? "" : " ") + std::to_string(each.begin) + "+" +
            std::to_string(each.period) + "x" + std::to_string(each.count);
  return text;
}

TEST(RepeatSearch, FindsWhatRepeats) {
  EXPECT_EQ(found(listOf("abcbcbc", {0, 1, 2, 3, 4, 5, 6})), "1+2x3");
  EXPECT_EQ(found(listOf("")), "");
  EXPECT_EQ(found(listOf("a")), "");
  EXPECT_EQ(found(listOf("abcd")), "");
  EXPECT_EQ(found(listOf("aa")), "0+1x2");
}

TEST(RepeatSearch, NumbersGrowByOneStrideFromTimeToTime) {
  EXPECT_EQ(found(listOf("abababab", {0, 5, 64, 4, 128, 3, 192, 2})), "0+2x4"); // one falls
  EXPECT_EQ(found(listOf("aaaaaa", {0, 1, 2, 10, 20, 30})), "0+1x3 3+1x3");
  EXPECT_EQ(found(listOf("aaaa", {0, 1, 2, 4})), "0+1x3"); // the last one differs
  EXPECT_EQ(found(listOf("aaaa", {7, 0, 1, 2})), "1+1x3");
  // Two buffers take turns, so two items repeat.
  EXPECT_EQ(found(listOf("aaaaaa", {0, 9, 0, 9, 0, 9})), "0+2x3");
}

TEST(RepeatSearch, TakesWhatSavesMostFirst) {
  // If the blocks are rolled, "aab" is not rolled on either side of them.
  EXPECT_EQ(found(listOf("xxaabcaabcaabcyy")), "0+1x2 2+4x3 14+1x2");
  EXPECT_EQ(found(listOf("xxaabcaabcaabcyy"), 2), "2+4x3");
}

TEST(RepeatSearch, FewerThanWantedAreNotWorthARepeat) {
  EXPECT_EQ(found(listOf("abcabc"), 3), "0+3x2");
  EXPECT_EQ(found(listOf("abcabc"), 4), "");
}

// Blocks have 100 items of few kinds, as a model's layers do.
TEST(RepeatSearch, FindsLongPeriods) {
  std::string block;
  uint32_t state = 1;
  for (int i = 0; i < 100; ++i)
    block += static_cast<char>('a' + ((state = state * 1664525 + 1013904223) >> 24) % 7);
  std::string all = "start";
  for (int layer = 0; layer < 50; ++layer)
    all += block;
  std::string text = found(listOf(all + "end"), 50);
  EXPECT_EQ(text, "5+100x50");
}
} // namespace
