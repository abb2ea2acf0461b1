// The candidates beside the chosen plan.
#include "compiler/explain/Runners.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

Plan candidate(double seconds, int64_t bytes) {
  Plan plan;
  plan.decisions.dp = 8;
  plan.predicted.stepSeconds = seconds;
  plan.predicted.times.compute = seconds;
  plan.predicted.peakMemoryBytes = bytes;
  return plan;
}

} // namespace

TEST(RunnersUp, LeaveOutOrdersThatMakeNoDifference) {
  PlanOutcome outcome;
  outcome.best = candidate(10, 100);
  outcome.others = {candidate(10, 100), candidate(11, 100), candidate(12, 100)};
  outcome.others[0].decisions.order = {'p', 't', 'c', 'd'};
  std::vector<const Plan *> shown = runnersUp(outcome, 1);
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0], &outcome.others[1]);
  EXPECT_EQ(runnersUp(outcome, 5).size(), 2u);
}

// Each needs less than all before it; none that is more than a quarter slower.
TEST(LeanerPlans, AreTheFrontierNearThePlan) {
  PlanOutcome outcome;
  outcome.best = candidate(10, 100);
  outcome.others = {candidate(10.5, 120), candidate(11, 80), candidate(11.5, 90), candidate(12, 60),
                    candidate(13, 10)};
  std::vector<const Plan *> leaner = leanerPlans(outcome, 0.25, 4);
  ASSERT_EQ(leaner.size(), 2u);
  EXPECT_EQ(leaner[0], &outcome.others[1]);
  EXPECT_EQ(leaner[1], &outcome.others[3]);
}

TEST(SettingsThatDiffer, NamesOnlyThose) {
  Plan plan = candidate(10, 100), other = plan;
  EXPECT_EQ(settingsThatDiffer(plan, other), "the same but for where layers are cut or recomputed");
  other.decisions.dp = 4;
  other.decisions.pp = 2;
  other.decisions.recompute = other.decisions.recomputeMost = Recompute::Full;
  EXPECT_EQ(settingsThatDiffer(plan, other), "dp=4, pp=2, 1f1b, recompute full");
}

TEST(LosesOn, NamesTheLargestParts) {
  Plan plan = candidate(10, 100), other = candidate(13.1, 100);
  other.predicted.times.compute = 10;
  other.predicted.times.bubble = 2;
  other.predicted.times.exposedGradients = 1;
  other.predicted.times.optimizer = 0.1;
  EXPECT_EQ(losesOn(plan, other), "bubble +2 s, exposed gradient comm +1 s");
  EXPECT_EQ(losesOn(plan, plan), "a tie");
  other.predicted.fits = false;
  EXPECT_EQ(losesOn(plan, other), "does not fit");
}
