#include "compiler/prove/verify/Columns.h"

#include <gtest/gtest.h>

#include <random>

namespace dtc {
namespace {

using Random = std::mt19937_64;

int64_t below(Random &random, int64_t limit) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
}

void expectColumns(const std::optional<Columns> &columns, int64_t stride,
                   const std::vector<Column> &wanted) {
  ASSERT_TRUE(columns);
  EXPECT_EQ(columns->stride, stride);
  EXPECT_EQ(columns->columns, wanted);
}

TEST(ColumnsOfBox, AreTheRowsOfAPartOfATensor) {
  expectColumns(columnsOf({{32, 24}, {8, 1}}, 4), 96, {{0, 32}});
  // Samples that follow each other make more rows, heads make longer ones.
  expectColumns(columnsOf({{2, 768}, {32, 24}, {2, 4}, {4, 1}}, 4), 96, {{0, 32}});
  // Dims may come in any order, go backward, or stay at one element.
  expectColumns(columnsOf({{8, -1}, {32, 24}, {5, 0}, {1, 7}}, 4), 96, {{0, 32}});
}

TEST(ColumnsOfBox, AreAllBytesOfWhatIsDense) {
  for (const std::vector<BoxDim> &dims :
       {std::vector<BoxDim>{}, {{64, 1}}, {{8, 8}, {8, 1}}, {{8, 1}, {8, 8}}, {{3, 0}}}) {
    std::optional<Columns> columns = columnsOf(dims, 2);
    ASSERT_TRUE(columns);
    EXPECT_TRUE(columns->isAll());
  }
}

TEST(ColumnsOfBox, AreSeveralWhereRowsAreSpacedInTwoWays) {
  expectColumns(columnsOf({{5, 100}, {3, 10}, {4, 1}}, 1), 100, {{0, 4}, {10, 14}, {20, 24}});
}

TEST(ColumnsOfBox, AreNotKnownWhereTheyAreTooManyOrOverlap) {
  EXPECT_FALSE(columnsOf({{5, 20000}, {1000, 10}, {4, 1}}, 1));
  EXPECT_FALSE(columnsOf({{5, 2}, {3, 3}}, 1));
  EXPECT_TRUE(columnsOf({{5, 1000000000}, {1000000, 100}, {100, 1}}, 1));
}

TEST(ColumnSets, HasAllOnceEveryColumnIsWritten) {
  ColumnSets sets;
  Columns part{96, {{0, 32}}};
  // The segment begins with a row of the first part.
  ColumnSets::Set set = sets.add(ColumnSets::kNone, part, 0, 960, false);
  expectColumns(sets.findMissing(set, nullptr, 0, 960), 96, {{32, 96}});
  EXPECT_FALSE(sets.findMissing(set, &part, 0, 960));
  // Rows of the other parts begin 32 and 64 bytes later.
  set = sets.add(set, part, -64, 960, false);
  expectColumns(sets.findMissing(set, nullptr, 0, 960), 96, {{32, 64}});
  EXPECT_EQ(sets.add(set, part, -64, 960, false), set);
  set = sets.add(set, part, -32, 960, false);
  EXPECT_EQ(set, ColumnSets::kAll);
  EXPECT_FALSE(sets.findMissing(set, nullptr, 0, 960));
}

TEST(ColumnSets, MeetOnlyColumnsThatAreWritten) {
  ColumnSets sets;
  Columns part{96, {{0, 32}}};
  ColumnSets::Set set = sets.add(ColumnSets::kNone, part, 0, 960, false);
  EXPECT_TRUE(sets.meets(set, part, 0, 960));
  EXPECT_TRUE(sets.meets(set, part, -31, 960));
  EXPECT_FALSE(sets.meets(set, part, -32, 960));
  EXPECT_TRUE(sets.meets(ColumnSets::kAll, part, -32, 960));
  EXPECT_FALSE(sets.meets(ColumnSets::kNone, part, 0, 960));
}

TEST(ColumnSets, LooksAtNoMoreThanASegmentHas) {
  ColumnSets sets;
  Columns part{96, {{0, 32}}};
  EXPECT_EQ(sets.add(ColumnSets::kNone, part, 96, 32, false), ColumnSets::kAll);
  EXPECT_EQ(sets.add(ColumnSets::kNone, part, 32, 64, false), ColumnSets::kNone);
  ColumnSets::Set set = sets.add(ColumnSets::kNone, part, 16, 40, false);
  expectColumns(sets.findMissing(set, nullptr, 0, 40), 40, {{16, 40}});
}

TEST(ColumnSets, HoldForTheStepOnceAnyColumnDoes) {
  ColumnSets sets;
  Columns left{8, {{0, 4}}}, right{8, {{4, 8}}};
  ColumnSets::Set set = sets.add(ColumnSets::kNone, left, 0, 80, true);
  EXPECT_TRUE(sets.isOfStep(set));
  EXPECT_NE(set, sets.add(ColumnSets::kNone, left, 0, 80, false));
  EXPECT_EQ(set, sets.withStep(sets.add(ColumnSets::kNone, left, 0, 80, false)));
  set = sets.add(set, right, 0, 80, false);
  EXPECT_TRUE(ColumnSets::isAll(set) && sets.isOfStep(set));
  EXPECT_FALSE(sets.isOfStep(ColumnSets::kAll));
}

TEST(ColumnSets, TakesForAllWhatIsTooIrregular) {
  ColumnSets sets;
  ColumnSets::Set set = sets.add(ColumnSets::kNone, {1009, {{0, 1}}}, 0, 10000000, false);
  EXPECT_FALSE(ColumnSets::isAll(set));
  EXPECT_TRUE(ColumnSets::isAll(sets.add(set, {1013, {{0, 1}}}, 0, 10000000, false)));
  Columns wanted{1013, {{0, 1}}};
  EXPECT_FALSE(sets.findMissing(set, &wanted, 0, 10000000));
}

// The bytes of a segment, one by one.
struct Bytes {
  std::vector<bool> written;
  bool isIn(const Columns &columns, int64_t byte) const {
    int64_t at = (byte % columns.stride + columns.stride) % columns.stride;
    for (const Column &each : columns.columns)
      if (each.begin <= at && at < each.end)
        return true;
    return false;
  }
};

TEST(ColumnSets, AgreeWithOneByteAfterAnother) {
  Random random(5);
  int full = 0, partly = 0;
  for (int round = 0; round < 4000; ++round) {
    int64_t bytes = 1 + below(random, 60);
    Bytes all{std::vector<bool>(static_cast<size_t>(bytes))};
    auto some = [&] {
      std::vector<int64_t> strides{4, 6, 8, 12, 16};
      Columns columns{strides[static_cast<size_t>(below(random, 5))], {}};
      int64_t begin = below(random, columns.stride - 1);
      columns.columns = {{begin, begin + 1 + below(random, columns.stride - begin)}};
      return columns;
    };
    ColumnSets sets;
    ColumnSets::Set set = ColumnSets::kNone;
    for (int writes = 1 + static_cast<int>(below(random, 4)); writes > 0; --writes) {
      Columns columns = some();
      int64_t phase = below(random, 100) - 20;
      set = sets.add(set, columns, phase, bytes, false);
      for (int64_t i = 0; i < bytes; ++i)
        if (all.isIn(columns, i + phase))
          all.written[static_cast<size_t>(i)] = true;
    }
    bool isFull = std::find(all.written.begin(), all.written.end(), false) == all.written.end();
    ASSERT_EQ(ColumnSets::isAll(set), isFull) << round;
    (isFull ? full : partly)++;
    Columns wanted = some();
    int64_t phase = below(random, 100) - 20;
    std::optional<Columns> missing = sets.findMissing(set, &wanted, phase, bytes),
                           holes = sets.findMissing(set, nullptr, 0, bytes);
    bool meets = false;
    for (int64_t i = 0; i < bytes; ++i)
      meets |= all.written[static_cast<size_t>(i)] && all.isIn(wanted, i + phase);
    ASSERT_EQ(sets.meets(set, wanted, phase, bytes), meets) << round;
    for (int64_t i = 0; i < bytes; ++i) {
      bool isHole = !all.written[static_cast<size_t>(i)];
      ASSERT_EQ(holes && all.isIn(*holes, i), isHole) << round;
      ASSERT_EQ(missing && all.isIn(*missing, i), isHole && all.isIn(wanted, i + phase)) << round;
    }
  }
  EXPECT_GT(full, 400);
  EXPECT_GT(partly, 400);
}

} // namespace
} // namespace dtc
