#include "tools/dtrun/Watch.h"
#include "tools/dtrun/BlockNorms.h"
#include "tools/dtrun/MetricsPage.h"
#include "tools/dtrun/RankLoads.h"
#include "tools/dtrun/Replicas.h"
#include "tools/dtrun/TerminalView.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace dtc::rt {
namespace {

TEST(Watch, KnowsWhatStepsWaitedForAndLost) {
  Watch watch;
  watch.enter(Spent::Training);
  double begin = clockSeconds();
  while (clockSeconds() < begin + 0.02) {
  }
  StepReport report;
  report.seconds = 0.02;
  report.result.seconds = 0.004;
  watch.readInput(0.009); // 5 ms beyond the step
  watch.waitedForInput(0.001);
  watch.afterStep(report);
  EXPECT_NEAR(report.inputWait, 0.006, 1e-9);
  double waited = report.goodput[static_cast<size_t>(Spent::InputWait)];
  EXPECT_GT(waited, 0);
  EXPECT_EQ(report.goodput[static_cast<size_t>(Spent::Lost)], 0);
  report.isSkipped = true;
  watch.enter(Spent::Other);
  watch.enter(Spent::Training);
  report.seconds = 0.01;
  watch.afterStep(report);
  EXPECT_EQ(report.inputWait, 0); // it belonged to the step before
  EXPECT_GT(report.goodput[static_cast<size_t>(Spent::Lost)], waited);
}

TEST(RankLoads, NamesTheSlowestAndWhatItCosts) {
  RankLoads loads = loadsOf({2, 3, 2}, 4);
  EXPECT_EQ(loads.slowest, 1);
  EXPECT_EQ(loads.excess, 0.25);
  EXPECT_EQ(loadsOf({1, 3}, 4).excess, 0.25); // the median is between the two
}

TEST(RankLoads, KnowsNothingWhereOneRankIsNotKnown) {
  EXPECT_EQ(loadsOf({2, 0, 2}, 4).slowest, -1);
  EXPECT_TRUE(loadsOf({2, 0, 2}, 4).work.empty());
  EXPECT_EQ(loadsOf({}, 4).slowest, -1);
  EXPECT_EQ(loadsOf({2}, 4).slowest, -1);
}

// Ranks of other programs have other layers; a layer that no row went to says nothing.
TEST(ExpertLoads, TheImbalanceIsThatOfTheWorstLayer) {
  const int32_t ofTwo[] = {6, 4, 2, 4};
  const uint32_t similar[] = {0, 0};
  EXPECT_DOUBLE_EQ(imbalanceOf(ofTwo, 2, similar), 1.5);
  const int32_t ofStages[] = {6, 0, 2, 0, 10, 1, 10, 7};
  const uint32_t stages[] = {0, 0, 1, 1};
  EXPECT_DOUBLE_EQ(imbalanceOf(ofStages, 2, stages), 1.75);
  const int32_t even[] = {0, 5, 0, 5};
  EXPECT_DOUBLE_EQ(imbalanceOf(even, 2, similar), 1);
  EXPECT_DOUBLE_EQ(imbalanceOf({}, 0, similar), 1);
}

// Ranks of a stage have other samples or other experts, and those of tensor parallelism neither.
TEST(ExpertLoads, RowsAreAddedUpByLayerAndExpert) {
  const RankExperts ranks[] = {{.program = 1, .layers = 1, .firstExpert = 0},
                               {.program = 1, .layers = 1, .firstExpert = 0, .isCopy = true},
                               {.program = 1, .layers = 1, .firstExpert = 2},
                               {.program = 0, .layers = 2, .firstExpert = 0},
                               {.program = 0, .layers = 2, .firstExpert = 2},
                               {.program = 0, .layers = 2, .firstExpert = 2}};
  const int32_t rows[] = {1, 2, 0, 0, 1, 2, 0, 0, 3,  4,  0,  0,
                          5, 6, 7, 8, 9, 1, 2, 3, 10, 20, 30, 40};
  EXPECT_EQ(rowsByExpert(rows, 2, 2, ranks),
            (std::vector<std::vector<int64_t>>{{5, 6, 19, 21}, {7, 8, 32, 43}, {1, 2, 3, 4}}));
  EXPECT_TRUE(rowsByExpert({}, 0, 0, {}).empty());
  EXPECT_DOUBLE_EQ(loadOf(std::vector<int64_t>{1, 0, 5, 2}), 2.5);
  EXPECT_DOUBLE_EQ(loadOf(std::vector<int64_t>{0, 0}), 1);
}

TEST(BlockNorms, ABlockEndsWithItsNumber) {
  EXPECT_EQ(blockOf("transformer.h.3.attn.c_attn.weight"), "transformer.h.3");
  EXPECT_EQ(blockOf("model.layers.10.mlp.experts.2.w1.weight"), "model.layers.10");
  EXPECT_EQ(blockOf("lm_head.weight"), "lm_head");
  EXPECT_EQ(blockOf("transformer.ln_2.weight"), "transformer.ln_2");
  EXPECT_EQ(blockOf("w1"), "w1");
  EXPECT_EQ(blockOf(""), "");
}

TensorSpec tensorOver(const std::string &name, std::vector<ShardedDim> shards) {
  TensorSpec spec;
  spec.name = name;
  spec.shards = std::move(shards);
  return spec;
}

TEST(Replicas, NameTheOneThatDiffersFromMost) {
  std::vector<TensorSpec> one = {tensorOver("w", {})};
  EXPECT_FALSE(findOdd(one, format::RankMesh({3}), {7, 7, 7}));
  auto found = findOdd(one, format::RankMesh({3}), {7, 7, 8});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->odd, (std::vector<int>{2}));
  EXPECT_EQ(found->rest, (std::vector<int>{0, 1}));
  found = findOdd(one, format::RankMesh({5}), {8, 7, 9, 7, 7});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->odd, (std::vector<int>{0, 2}));
}

TEST(Replicas, NameAllWhereNoneHasMost) {
  std::vector<TensorSpec> one = {tensorOver("w", {})};
  for (const auto &[ranks, hashes] :
       {std::pair(2u, std::vector<uint64_t>{7, 8}), {4u, {7, 7, 8, 8}}}) {
    auto found = findOdd(one, format::RankMesh({ranks}), hashes);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->odd.size(), ranks);
    EXPECT_TRUE(found->rest.empty());
  }
}

// The mesh is {2, 3}: along axis 0 rank 3 is beside rank 0, 4 beside 1 and 5 beside 2.
TEST(Replicas, CompareOnlyWhatMustBeAlike) {
  format::RankMesh mesh({2, 3});
  std::vector<TensorSpec> split = {tensorOver("w", {{.dim = 0, .axis = 1}})};
  EXPECT_FALSE(findOdd(split, mesh, {1, 2, 3, 1, 2, 3}));
  auto found = findOdd(split, mesh, {1, 2, 3, 1, 9, 3});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->odd, (std::vector<int>{1, 4}));
  std::vector<TensorSpec> whole = {tensorOver("w", {{.dim = 0, .axis = 0}, {.dim = 1, .axis = 1}})};
  EXPECT_FALSE(findOdd(whole, mesh, {1, 2, 3, 4, 5, 6}));
}

TEST(Replicas, CountTensorsAndLeaveOutWhoHasNone) {
  std::vector<TensorSpec> two = {tensorOver("a", {}), tensorOver("b", {}), tensorOver("c", {})};
  two[1].holders = {0, 1};
  // Rank 2 has no b, whatever value is there.
  auto found = findOdd(two, format::RankMesh({3}), {1, 5, 3, 1, 5, 3, 1, 0, 3});
  EXPECT_FALSE(found);
  found = findOdd(two, format::RankMesh({3}), {1, 5, 3, 1, 5, 4, 2, 0, 3});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->tensor, 0u);
  EXPECT_EQ(found->odd, (std::vector<int>{2}));
  EXPECT_EQ(found->numTensors, 2u);
}

StepReport example() {
  StepReport report;
  report.step = 250;
  report.result.loss = 4.125f;
  report.result.hasLoss = true;
  report.result.exposedCommSeconds = 0.0625;
  report.result.classSeconds = {0.01, 0.02, 0, 0, 0, 0.05, 0.0125};
  report.seconds = 0.125;
  report.samplesPerSecond = 2600;
  report.sequenceLength = 16;
  report.mfu = 0.5;
  report.inputWait = 0.0125;
  report.peakMemoryBytes = 1500000;
  report.loads = loadsOf({0.03, 0.04}, 0.125);
  report.goodput = {0.75, 0.25};
  report.elapsed = 80;
  report.rollBacks = 2;
  report.skippedBatches = 5;
  report.experts = ExpertLoads{.imbalance = 1.5, .rounds = 2, .rows = {{3, 1}, {0, 4}}};
  return report;
}

TEST(MetricsPage, HasWhatIsKnownOfAStep) {
  std::map<std::string, double> values;
  for (const Metric &metric : metricsOf(example(), {{"h.0", 2.5}}))
    for (const MetricSample &sample : metric.samples) {
      std::string name = metric.name;
      for (const auto &[label, value] : sample.labels)
        name += "{" + label + "=" + value + "}";
      EXPECT_TRUE(values.emplace(name, sample.value).second) << name;
    }
  EXPECT_EQ(values["dtc_step"], 250);
  EXPECT_EQ(values["dtc_loss"], 4.125);
  EXPECT_EQ(values["dtc_step_seconds"], 0.125);
  EXPECT_EQ(values["dtc_roll_backs_total"], 2);
  EXPECT_EQ(values["dtc_skipped_batches_total"], 5);
  EXPECT_NEAR(values["dtc_step_part_seconds{part=compute}"], 0.03, 1e-12);
  EXPECT_EQ(values["dtc_step_part_seconds{part=exposed_communication}"], 0.0625);
  EXPECT_EQ(values["dtc_step_part_seconds{part=input_wait}"], 0.0125);
  EXPECT_NEAR(values["dtc_step_part_seconds{part=other}"], 0.02, 1e-12);
  EXPECT_EQ(values["dtc_tokens_per_second"], 41600);
  EXPECT_EQ(values["dtc_rank_work_seconds{rank=1}"], 0.04);
  EXPECT_EQ(values["dtc_slowest_rank"], 1);
  EXPECT_EQ(values["dtc_expert_imbalance_ratio"], 1.5);
  EXPECT_EQ(values["dtc_expert_rounds"], 2);
  EXPECT_EQ(values["dtc_expert_rows{layer=0}{expert=0}"], 3);
  EXPECT_EQ(values["dtc_expert_rows{layer=1}{expert=1}"], 4);
  EXPECT_EQ(values["dtc_goodput_ratio{cause=start_up}"], 0.25);
  EXPECT_EQ(values["dtc_elapsed_seconds"], 80);
  EXPECT_EQ(values["dtc_param_norm{block=h.0}"], 2.5);
  EXPECT_EQ(values.count("dtc_grad_norm"), 0u);
  EXPECT_EQ(values.count("dtc_loss_scale"), 0u);
}

TEST(TerminalView, ShowsHowTheRunFares) {
  ViewOfRun run{.job = "gpt2: 2 ranks (dp 2)",
                .firstStep = 50,
                .steps = 1000,
                .report = example(),
                .sinceStart = 20,
                .evaluation = {}};
  EXPECT_EQ(viewLines(run, 79),
            (std::vector<std::string>{
                "gpt2: 2 ranks (dp 2)",
                "step 250 of 1000  [##########..............................]   25 %  1:15 left",
                "loss 4.12500  lr 0.000e+00  41.6k tokens/s  MFU 50.0 %",
                "step 125 ms  compute 24.0 %  comm 50.0 %  input 10.0 %  memory 1.5 MB",
                "slowest rank 1: +4.0 % of a step  goodput 75.0 %  start_up 25.0 %"}));
  run.evaluation = EvaluationReport{.step = 200, .loss = 4.5, .count = 1};
  run.report.result.hasLossScale = true;
  run.report.result.lossScale = 1024;
  EXPECT_EQ(viewLines(run, 79).back(), "eval loss 4.50000 after step 200  loss scale 1024");
}

TEST(TerminalView, FitsAnyWidthAndSteersNoTerminal) {
  ViewOfRun run{.job = "a\x1b[2Jb\xc3\xa9\n",
                .firstStep = 0,
                .steps = 300,
                .report = example(),
                .sinceStart = 20,
                .evaluation = {}};
  for (size_t width : {1u, 20u, 60u, 200u})
    for (const std::string &line : viewLines(run, width)) {
      EXPECT_LE(line.size(), width);
      for (char c : line)
        EXPECT_TRUE(c >= ' ' && c <= '~') << line;
    }
  EXPECT_EQ(viewLines(run, 60)[0], "a?[2Jb???");
}

TEST(TerminalView, TimesAreForPeople) {
  EXPECT_EQ(humanTime(6.2), "0:07");
  EXPECT_EQ(humanTime(754), "12:34");
  EXPECT_EQ(humanTime(3723), "1:02:03");
  EXPECT_EQ(humanTime(2 * 86400 + 3723), "2 d 1:02:03");
  EXPECT_EQ(humanTime(-1), "0:00");
}

} // namespace
} // namespace dtc::rt
