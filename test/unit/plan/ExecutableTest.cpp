// Tests which plans compile, and the hints for those that do not.
#include "compiler/decide/plan/Executable.h"

#include "gtest/gtest.h"

using namespace dtc;

static std::string why(void (*change)(Decisions &)) {
  Plan plan;
  change(plan.decisions);
  EXPECT_EQ(isExecutable(plan.decisions), whyNotExecutable(plan).empty());
  return whyNotExecutable(plan);
}

TEST(Executable, IsDataTensorAndPipelineParallelWithZero1) {
  EXPECT_EQ(why([](Decisions &d) {
              d.dp = 4;
              d.tp = 2;
              d.pp = 4;
              d.schedule = ScheduleKind::ZeroBubbleV;
              d.virtualStages = 2;
              d.sequenceParallel = true;
              d.zero = 1;
              d.microBatch = d.numMicroBatches = 3;
              d.placement = 1;
            }),
            "");
}

TEST(Executable, IsWhateverLayersRecompute) {
  EXPECT_EQ(why([](Decisions &d) { d.recompute = d.recomputeMost = Recompute::Full; }), "");
  EXPECT_EQ(why([](Decisions &d) { d.recomputeMost = Recompute::Selective; }), "");
}

TEST(Executable, NamesWhatIsTooMuch) {
  const std::string yet = ", which dtc can't compile yet; plan with ";
  EXPECT_EQ(why([](Decisions &d) {
              d.cp = 4;
              d.contextKind = ContextKind::Both;
              d.contextInner = 2;
            }),
            "the plan has cp_kind = both" + yet + "--fix cp_kind=ring, all-to-all or all-gather");
  for (ContextKind kind : {ContextKind::Ring, ContextKind::AllToAll, ContextKind::AllGather}) {
    Plan plan;
    plan.decisions.cp = 2;
    plan.decisions.contextKind = kind;
    EXPECT_EQ(whyNotExecutable(plan), "");
    plan.decisions.dp = plan.decisions.ep = 2;
    EXPECT_EQ(whyNotExecutable(plan), "the plan has ep = 2" + yet + "--fix cp=1");
  }
  EXPECT_EQ(why([](Decisions &d) { d.dp = d.ep = 2; }), "");
  EXPECT_EQ(why([](Decisions &d) {
              d.tp = 2;
              d.sequenceParallel = d.foldedExperts = true;
            }),
            "the plan has etp = 1" + yet + "--fix etp=tp");
  EXPECT_EQ(why([](Decisions &d) {
              d.tp = 4;
              d.tensorOfParts = {4, 1};
            }),
            "the plan has tp_of_parts = 4-1" + yet + "--fix tp_of_parts=even");
  EXPECT_EQ(why([](Decisions &d) { d.zero = 3; }), "");
  EXPECT_EQ(why([](Decisions &d) {
              d.zero = 2;
              d.pp = 2;
            }),
            "");
  EXPECT_EQ(why([](Decisions &d) { d.offloadOptimizer = true; }), "");
  EXPECT_EQ(why([](Decisions &d) { d.numMicroBatches = 65536; }), "");
  EXPECT_EQ(why([](Decisions &d) { d.numMicroBatches = 65537; }),
            "the plan has num_micro_batches = 65537" + yet +
                "a larger micro_batch, or a smaller --global-batch");
  EXPECT_EQ(why([](Decisions &d) { d.order = {'d', 't', 'c', 'p'}; }), "");
}

TEST(Executable, HasAllPrecisionsWithAllParallelism) {
  Plan plan;
  plan.decisions.tp = plan.decisions.pp = 2;
  plan.decisions.recomputeMost = Recompute::Full;
  for (Precision precision : {Precision::F32, Precision::BF16, Precision::F16}) {
    plan.precision = precision;
    EXPECT_EQ(whyNotExecutable(plan), "");
  }
  plan.origin.gradDtype = GradientType::BF16;
  EXPECT_EQ(whyNotExecutable(plan), "");
}

TEST(Executable, HasStepsOfSomeLength) {
  constexpr int64_t most = int64_t(1) << 26, mostStops = int64_t(1) << 24;
  EXPECT_EQ(whyTooLong({most, mostStops}, 1000), "");
  EXPECT_EQ(overLongest({most / 2, mostStops}), 1);
  EXPECT_EQ(overLongest({3 * most, mostStops / 4}), 3);
  EXPECT_EQ(
      whyTooLong({most + 1, 0}, 1000),
      "a step of 1000 micro-batches runs 67108865 instructions, an executable at most 67108864");
  EXPECT_EQ(whyTooLong({most, mostStops + 1}, 1000),
            "a step of 1000 micro-batches runs 16777217 records, waits, collectives and transfers, "
            "an executable at most 16777216");
}
