// Tests when a job that failed is started again.
#include "tools/dtrun/Restarts.h"
#include "runtime/comm/Launch.h"

#include <gtest/gtest.h>

namespace dtc::rt {
namespace {

TEST(RestartBudget, EndsWithoutNewCheckpoints) {
  RestartBudget budget(2, 0);
  EXPECT_TRUE(budget.take(0));
  EXPECT_TRUE(budget.take(0));
  EXPECT_FALSE(budget.take(0));
}

TEST(RestartBudget, IsFilledByANewCheckpoint) {
  RestartBudget budget(2, 20);
  for (uint64_t step = 20; step < 200; step += 10)
    EXPECT_TRUE(budget.take(step)) << step;
  EXPECT_EQ(budget.used(), 1u);
  EXPECT_TRUE(budget.take(190));
  EXPECT_EQ(budget.used(), 2u);
  EXPECT_FALSE(budget.take(190));
  // Steps that ran before are not progress.
  RestartBudget another(1, 50);
  EXPECT_TRUE(another.take(40));
  EXPECT_FALSE(another.take(50));
}

TEST(RestartBudget, WaitsWhereNothingHelps) {
  RestartBudget budget(100, 0);
  std::vector<double> waits;
  for (uint64_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(budget.take(0));
    waits.push_back(budget.waitSeconds());
  }
  EXPECT_EQ(waits, (std::vector<double>{0, 1, 2, 4, 8, 16, 30, 30}));
  EXPECT_TRUE(budget.take(10));
  EXPECT_EQ(budget.waitSeconds(), 0);
}

TEST(Restarts, AreForWhatMayPass) {
  LaunchResult result;
  for (int code : {3, 70}) {
    result.exitCode = code;
    EXPECT_TRUE(mayMend(result)) << code;
  }
  for (int code : {0, 1, 2, 4, 143, 130}) {
    result.exitCode = code;
    EXPECT_FALSE(mayMend(result)) << code;
  }
  result.exitCode = 3;
  result.byUser = true;
  EXPECT_FALSE(mayMend(result));
  result.byUser = false;
  result.outputError = 28;
  EXPECT_FALSE(mayMend(result));
}

} // namespace
} // namespace dtc::rt
