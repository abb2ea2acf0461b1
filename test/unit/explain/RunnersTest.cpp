// Tests the candidates that are shown beside the chosen plan.
#include "compiler/show/explain/Runners.h"

#include "compiler/decide/decisions/Words.h"

#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

#include <random>
#include <set>

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
  PlanResult planResult;
  planResult.best = candidate(10, 100);
  planResult.others = {candidate(10, 100), candidate(11, 100), candidate(12, 100)};
  planResult.others[0].decisions.order = {'p', 't', 'c', 'd'};
  planResult.others[1].decisions.zero = 1;
  planResult.others[2].decisions.zero = 2;
  std::vector<const Plan *> shown = runnersUp(planResult, 1);
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0], &planResult.others[1]);
  EXPECT_EQ(runnersUp(planResult, 5).size(), 2u);
}

// Each plan needs less memory than all before it, and none is more than a quarter slower.
TEST(PlansWithLessMemory, AreTheFrontierNearThePlan) {
  PlanResult planResult;
  planResult.best = candidate(10, 100);
  planResult.others = {candidate(10.5, 120), candidate(11, 80), candidate(11.5, 90),
                       candidate(12, 60), candidate(13, 10)};
  for (auto [index, other] : llvm::enumerate(planResult.others))
    other.decisions.microBatch += static_cast<int64_t>(index);
  std::vector<const Plan *> leaner = plansWithLessMemory(planResult, 0.25, 4);
  ASSERT_EQ(leaner.size(), 2u);
  EXPECT_EQ(leaner[0], &planResult.others[1]);
  EXPECT_EQ(leaner[1], &planResult.others[3]);
}

// Less than 1 % of the plan's memory is no reason for a row.
TEST(PlansWithLessMemory, SaveWhatCounts) {
  PlanResult planResult;
  planResult.best = candidate(10, 1000);
  planResult.others = {candidate(11, 995), candidate(12, 990), candidate(12.1, 985)};
  for (auto [index, other] : llvm::enumerate(planResult.others))
    other.decisions.microBatch += static_cast<int64_t>(index) + 1;
  std::vector<const Plan *> leaner = plansWithLessMemory(planResult, 0.25, 4);
  ASSERT_EQ(leaner.size(), 1u);
  EXPECT_EQ(leaner[0], &planResult.others[1]);
}

// A plan may be simpler than one that is faster: what that one takes for it is said.
TEST(LosesOn, NamesWhatAFasterPlanTakes) {
  Plan plan = candidate(10, 100), faster = candidate(9.9, 100), similar = candidate(9.9999, 100);
  faster.decisions.pp = faster.decisions.virtualStages = similar.decisions.pp = 2;
  EXPECT_EQ(losesOn(plan, faster), "faster, with pipeline parallelism, virtual stages");
  EXPECT_EQ(losesOn(plan, similar), "a tie");
  plan.predicted.fitProbability = 0.95;
  similar.predicted.fitProbability = 0.9;
  EXPECT_EQ(whyNot(plan, similar), "a tie, fits with 90.0 %");
}

TEST(LabelsOf, NameSettingsThatDiffer) {
  Plan plan = candidate(10, 100), other = plan, third = plan;
  other.decisions.dp = 4;
  other.decisions.pp = 2;
  other.decisions.recompute = other.decisions.recomputeMost = Recompute::Full;
  third.decisions.zero = 1;
  EXPECT_EQ(labelsOf(plan, {&other, &third}),
            (std::vector<std::string>{"dp=4, pp=2, 1f1b, recompute full", "zero=1"}));
}

// Three plans mix recomputation: one recomputes in full up to a layer, the others in fewer layers
// and more of one stage. The chosen plan has the settings of the last.
TEST(LabelsOf, TellPlansOfTheSameSettingsApart) {
  auto mixed = [](Recompute most, std::vector<int64_t> layers) {
    Plan plan = candidate(10, 100);
    plan.decisions.recomputeMost = most;
    int64_t first = 0;
    for (int64_t count : layers) {
      PlanStage &stage = plan.stages.emplace_back();
      stage.chunks = {{first, first + 7}};
      first += 8;
      stage.recompute.assign(8, "none");
      for (int64_t layer = 0; layer < count; ++layer)
        stage.recompute[static_cast<size_t>(layer)] = toString(most).str();
    }
    return plan;
  };
  Plan plan = candidate(10, 100), full = mixed(Recompute::Full, {3, 2, 2, 2}),
       some = mixed(Recompute::Selective, {5, 5, 5, 5}),
       more = mixed(Recompute::Selective, {6, 5, 5, 5});
  EXPECT_EQ(labelsOf(plan, {&full, &some, &more}),
            (std::vector<std::string>{"recompute mixed, layers recompute none to full",
                                      "recompute mixed, selective in 4*5 layers",
                                      "recompute mixed, selective in 6+3*5 layers"}));
  Plan buckets = plan;
  buckets.decisions.bucketBytes = 1 << 20;
  EXPECT_EQ(labelsOf(plan, {&buckets}),
            (std::vector<std::string>{"gradients in buckets of 1 MiB"}));
}

namespace {

// Returns a plan with few values per decision, so that many plans differ only in a detail.
Plan randomPlan(std::mt19937 &random) {
  auto one = [&](int64_t most) { return static_cast<int64_t>(random() % (most + 1)); };
  Plan plan = candidate(10 + static_cast<double>(one(3)), 100 - one(40));
  Decisions &d = plan.decisions;
  d.pp = 1 + one(1);
  d.dp = 8 / d.pp;
  d.zero = one(1);
  d.recompute = static_cast<Recompute>(one(1));
  d.recomputeMost = static_cast<Recompute>(std::max<int64_t>(one(2), one(1)));
  d.recomputeMost = std::max(d.recompute, d.recomputeMost);
  d.overlapGradients = one(3) > 0;
  d.bucketBytes = one(1) << 20;
  d.placement = static_cast<int>(one(2));
  if (one(4) == 0)
    d.order = {'t', 'd', 'c', 'p'};
  int64_t cut = 3 + one(1), first = 0;
  for (int64_t stage = 0; stage < d.pp; ++stage) {
    PlanStage &out = plan.stages.emplace_back();
    int64_t last = stage + 1 == d.pp ? 7 : cut;
    out.chunks = {{first, last}};
    out.ranks = {stage == 0 ? 8 * one(1) : 4};
    for (int64_t layer = first; layer <= last; ++layer)
      out.recompute.push_back(toString(one(1) ? d.recompute : d.recomputeMost).str());
    first = last + 1;
  }
  return plan;
}

} // namespace

TEST(LabelsOf, AreNeverTheSameInAList) {
  std::mt19937 random(3);
  size_t labels = 0, detailed = 0;
  for (int list = 0; list < 200; ++list) {
    PlanResult planResult;
    planResult.best = randomPlan(random);
    for (int other = 0; other < 40; ++other)
      planResult.others.push_back(randomPlan(random));
    llvm::sort(planResult.others, [](const Plan &a, const Plan &b) {
      return a.predicted.stepSeconds < b.predicted.stepSeconds;
    });
    for (const std::vector<const Plan *> &shown :
         {runnersUp(planResult, 12), plansWithLessMemory(planResult, 0.25, 12)}) {
      std::set<std::string> seen{""};
      for (const std::string &label : labelsOf(planResult.best, shown)) {
        EXPECT_TRUE(seen.insert(label).second) << "list " << list << ": '" << label << "'";
        detailed += label.find(" layers") != std::string::npos;
      }
      labels += shown.size();
    }
  }
  EXPECT_GT(labels, 2000u);
  EXPECT_GT(detailed, 100u);
}

// A plan with the same text as an earlier one is the same plan.
TEST(RunnersUp, HaveEachPlanOnce) {
  std::mt19937 random(5);
  PlanResult planResult;
  planResult.best = randomPlan(random);
  planResult.others = {planResult.best, randomPlan(random), planResult.best};
  planResult.others[0].predicted.peakMemoryBytes -= 60;
  EXPECT_EQ(runnersUp(planResult, 5), (std::vector<const Plan *>{&planResult.others[1]}));
  planResult.others[1] = planResult.best;
  EXPECT_TRUE(plansWithLessMemory(planResult, 10, 5).empty());
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
