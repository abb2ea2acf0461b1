// What compiles, and how a plan that does not is mended.
#include "compiler/plan/Executable.h"

#include "gtest/gtest.h"

using namespace dtc;

static std::string why(void (*change)(Decisions &)) {
  Plan plan;
  change(plan.decisions);
  EXPECT_EQ(isExecutable(plan.decisions), whyNotExecutable(plan).empty());
  return whyNotExecutable(plan);
}

TEST(Executable, IsDataAndTensorParallelWithZero1) {
  EXPECT_EQ(why([](Decisions &d) {
              d.dp = 4;
              d.tp = 2;
              d.sequenceParallel = true;
              d.zero = 1;
              d.microBatch = d.numMicroBatches = 3;
              d.placement = 1;
            }),
            "");
}

TEST(Executable, NamesWhatIsTooMuch) {
  const std::string yet = ", which dtc can't compile yet; plan with ";
  EXPECT_EQ(why([](Decisions &d) { d.pp = 2; }), "the plan has pp = 2" + yet + "--fix pp=1");
  EXPECT_EQ(why([](Decisions &d) { d.cp = 2; }), "the plan has cp = 2" + yet + "--fix cp=1");
  EXPECT_EQ(why([](Decisions &d) { d.ep = 2; }), "the plan has ep = 2" + yet + "--fix ep=1");
  EXPECT_EQ(why([](Decisions &d) { d.zero = 2; }), "the plan has zero = 2" + yet + "--fix zero=1");
  EXPECT_EQ(why([](Decisions &d) { d.virtualStages = 2; }),
            "the plan has virtual_stages = 2" + yet + "--fix virtual_stages=1");
  EXPECT_EQ(why([](Decisions &d) { d.offloadOptimizer = true; }),
            "the plan has offload_optimizer = yes" + yet + "--fix offload=0");
  EXPECT_EQ(why([](Decisions &d) { d.recomputeMost = Recompute::Selective; }),
            "the plan has recompute = mixed" + yet + "--fix recompute=none");
  EXPECT_EQ(why([](Decisions &d) { d.recompute = d.recomputeMost = Recompute::Full; }),
            "the plan has recompute = full" + yet + "--fix recompute=none");
  EXPECT_EQ(why([](Decisions &d) { d.numMicroBatches = 65536; }), "");
  EXPECT_EQ(why([](Decisions &d) { d.numMicroBatches = 65537; }),
            "the plan has num_micro_batches = 65537" + yet +
                "a larger micro_batch, or a smaller --global-batch");
  EXPECT_EQ(why([](Decisions &d) {
              d.order = {'d', 't', 'c', 'p'};
            }),
            "the plan has axis_order = dp tp cp pp" + yet + "--executable");
}

TEST(Executable, IsF32WithOptimizersThatHaveKernels) {
  EXPECT_EQ(whyNotExecutable("f32", "adamw"), "");
  EXPECT_EQ(whyNotExecutable("f32", "sgd"), "");
  EXPECT_EQ(whyNotExecutable("bf16", "adamw"),
            "precision bf16, which dtc can't compile yet; plan with --precision f32");
  EXPECT_EQ(whyNotExecutable("f32", "lamb"),
            "optimizer lamb, which dtc can't compile yet; plan with --optimizer adamw or sgd");
}
