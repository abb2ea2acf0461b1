// Tests where an order repeats itself.
#include "compiler/prove/verify/Periods.h"

#include <gtest/gtest.h>

namespace dtc {
namespace {

constexpr uint32_t kForward = 0, kBackward = 1, kUpdate = 2;

// Returns all forward runs `ahead` micro-batches before the backward ones, then the update.
std::vector<format::Run> orderOf(uint32_t microBatches, uint32_t ahead) {
  std::vector<format::Run> order;
  for (uint32_t m = 0; m < microBatches + ahead; ++m) {
    if (m < microBatches)
      order.emplace_back(kForward, m);
    if (m >= ahead)
      order.emplace_back(kBackward, m - ahead);
  }
  order.emplace_back(kUpdate, 0);
  return order;
}

void expectPeriod(const std::vector<format::Run> &order, Period wanted) {
  std::optional<Period> found = findPeriod(order);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->begin, wanted.begin);
  EXPECT_EQ(found->end, wanted.end);
  EXPECT_EQ(found->length, wanted.length);
  EXPECT_EQ(found->shift, wanted.shift);
}

TEST(Periods, LeaveOutFirstAndLastRuns) {
  expectPeriod(orderOf(7, 1), {3, 11, 2, 1});
  expectPeriod(orderOf(20, 0), {2, 38, 2, 1});
}

TEST(Periods, AreNotOfFewRepetitions) {
  EXPECT_FALSE(findPeriod(orderOf(5, 0)));
  EXPECT_FALSE(findPeriod({}));
}

TEST(Periods, EndWhereMicroBatchesAreOutOfOrder) {
  std::vector<format::Run> order = orderOf(20, 0);
  std::swap(order[28], order[30]); // forward runs of micro-batches 14 and 15
  expectPeriod(order, {2, 28, 2, 1});
}

TEST(Periods, MayMoveOnBySeveralMicroBatches) {
  std::vector<format::Run> order;
  for (uint32_t m = 0; m < 24; m += 2)
    for (uint32_t task : {kForward, kBackward})
      for (uint32_t each : {m, m + 1})
        order.emplace_back(task, each);
  expectPeriod(order, {3, 45, 4, 2});
}

} // namespace
} // namespace dtc
