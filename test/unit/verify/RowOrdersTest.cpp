// Numbers of orders are equal for what is made alike, and end where there is no more room.
#include "compiler/prove/verify/RowOrders.h"

#include <gtest/gtest.h>

namespace dtc {
namespace {

using Number = RowOrders::Number;
using Kind = RowOrders::Kind;

TEST(RowOrders, TellsScalarsOfOneKernelApart) {
  RowOrders orders;
  Number choice = orders.chosen(0, 0, 0, {});
  auto made = [&](const std::vector<int64_t> &scalars) {
    return orders.made(0, scalars, 0, {choice}, Kind::Indices);
  };
  EXPECT_NE(made({0, 31}), made({1, 0}));
  EXPECT_NE(made({}), made({0}));
  // A scalar is no number of what integers are made of.
  EXPECT_NE(orders.made(0, {choice}, 0, {choice}, Kind::Indices),
            orders.made(0, {}, 0, {choice, choice}, Kind::Indices));
  EXPECT_NE(made({INT64_MAX, 1}), made({INT64_MIN, 1}));
  EXPECT_EQ(made({INT64_MAX, 1}), made({INT64_MAX, 1}));
}

TEST(RowOrders, EndWhereThereIsNoRoom) {
  RowOrders orders(/*room=*/100);
  Number choice = orders.chosen(0, 0, 0, {});
  auto next = [&](Number of) { return orders.made(0, {}, 0, {of}, Kind::Indices); };
  std::vector<Number> all = {choice};
  while (all.size() < 100 && all.back() != RowOrders::kUnknown)
    all.push_back(next(all.back()));
  ASSERT_EQ(all.back(), RowOrders::kUnknown);
  EXPECT_GT(all.size(), 10u);
  EXPECT_LT(all.size(), 50u);
  // An order that had room keeps its number.
  for (size_t i = 0; i + 1 < all.size(); ++i)
    EXPECT_EQ(next(all[i]), all[i + 1]);
  EXPECT_EQ(orders.chosen(0, 0, 0, {}), choice);
  EXPECT_EQ(orders.chosen(0, 1, 0, {}), RowOrders::kUnknown);
}

TEST(RowOrders, OfRowsEndWhereThereIsNoRoom) {
  RowOrders orders(/*room=*/100);
  Number indices = orders.made(0, {}, 0, {orders.chosen(0, 0, 0, {})}, Kind::Indices);
  Number order = RowOrders::kNone;
  for (int i = 0; i < 100 && order != RowOrders::kUnknown; ++i)
    order = orders.moved(order, indices);
  EXPECT_EQ(order, RowOrders::kUnknown);
}

TEST(RowOrders, KnowsTheRoutersOfChoices) {
  RowOrders orders;
  Number first = orders.chosen(0, 0, 0, {{64}}), second = orders.chosen(0, 1, 0, {{128}, {192}});
  EXPECT_FALSE(orders.areOfOthers({first}, {64}));
  EXPECT_TRUE(orders.areOfOthers({second}, {64}));
  EXPECT_TRUE(orders.areOfOthers({first, second}, {64}));
  EXPECT_FALSE(orders.areOfOthers({second}, {192}));
  EXPECT_FALSE(orders.areOfOthers({second}, {256})); // of no choice
}

// A choice whose routers had no room is not followed, and is by no scores of others.
TEST(RowOrders, FollowsNoRoutersWhereOneHadNoRoom) {
  size_t room = 0;
  Number first = 0, second = RowOrders::kUnknown;
  for (; room < 100 && second == RowOrders::kUnknown; ++room) {
    RowOrders orders(room);
    first = orders.chosen(0, 0, 0, {{64}});
    second = orders.chosen(0, 1, 0, {{64}, {128}});
    if (second == RowOrders::kUnknown && first != RowOrders::kUnknown) {
      EXPECT_FALSE(orders.areOfOthers({first + 1}, {64})) << room;
      EXPECT_FALSE(orders.areOfOthers({first}, {128})) << room;
    }
  }
  EXPECT_NE(first, RowOrders::kUnknown);
  EXPECT_NE(second, RowOrders::kUnknown);
  EXPECT_LT(room, 100u);
}

TEST(RowOrders, NoCountsAreThoseOfNoIndices) {
  RowOrders orders;
  Number choice = orders.chosen(0, 0, 0, {});
  Number counts = orders.made(0, {}, 1, {choice}, Kind::Counts);
  Number indices = orders.made(0, {}, 0, {choice}, Kind::Indices);
  EXPECT_TRUE(orders.areOf(indices, counts));
  EXPECT_FALSE(orders.areOf(RowOrders::kNone, counts));
}

} // namespace
} // namespace dtc
