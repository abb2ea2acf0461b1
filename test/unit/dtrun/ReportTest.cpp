#include "tools/dtrun/Report.h"
#include "tools/dtrun/StepEvents.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dtc::rt {
namespace {

StepReport example() {
  StepReport report;
  report.step = 3;
  report.result.loss = 4.125f;
  report.result.hasLoss = true;
  report.result.gradNorm = 1.25f;
  report.result.hasGradNorm = true;
  report.result.exposedCommSeconds = 0.0625;
  report.result.classSeconds = {0.015625, 0.015625, 0, 0, 0, 0.0625, 0};
  report.inputWait = 0.015625;
  report.result.skippedSteps = 2;
  report.result.hasSkippedSteps = true;
  report.seconds = 0.125;
  report.samplesPerSecond = 2600;
  report.sequenceLength = 16;
  report.mfu = 0.123;
  report.learningRate = 0.5f;
  report.peakMemoryBytes = 123456;
  return report;
}

TEST(Report, SummaryHasTheWorkTheLossAndTheCheckpoint) {
  RunSummary summary;
  summary.steps = 50;
  summary.lastStep = 60;
  summary.samples = 400;
  summary.sequenceLength = 512;
  summary.seconds = 12.25;
  summary.last.loss = 3.5f;
  summary.last.hasLoss = true;
  EXPECT_EQ(summaryAsText(summary), "50 steps in 12.25 s, 205k tokens, last loss 3.50000");
  summary.checkpoint = "runs/step-60";
  EXPECT_EQ(summaryAsText(summary),
            "50 steps in 12.25 s, 205k tokens, last loss 3.50000; checkpoint runs/step-60");
  summary.stopped = true;
  EXPECT_EQ(summaryAsText(summary),
            "step 60 saved in runs/step-60; --resume goes on after it (50 steps in 12.25 s, 205k "
            "tokens, last loss 3.50000)");
  RunSummary one;
  one.steps = one.lastStep = 1;
  one.samples = 8;
  one.seconds = 0.5;
  EXPECT_EQ(summaryAsText(one), "1 step in 500 ms, 8 samples");
}

TEST(Report, SummarySaysThatARunWasFinishedBefore) {
  RunSummary summary;
  EXPECT_EQ(summaryAsText(summary), "");
  summary.stepsBefore = 50;
  EXPECT_EQ(summaryAsText(summary), "all 50 steps ran before; raise --steps to train more");
  summary.stepsBefore = 1;
  EXPECT_EQ(summaryAsText(summary), "the only step ran before; raise --steps to train more");
}

TEST(Report, JsonHasTheKeysThatOtherProgramsRead) {
  EXPECT_EQ(
      stepAsJson(example()),
      "{\"step\":3,\"loss\":4.125,\"grad_norm\":1.25,\"lr\":0.5,\"step_time_s\":0.125,"
      "\"samples_per_s\":2600,\"tokens_per_s\":41600,\"mfu\":0.123,\"exposed_comm_fraction\":0.5,"
      "\"peak_memory_bytes\":123456,\"skipped_steps\":2,\"loss_scale\":null,"
      "\"roll_backs\":0,\"skipped_batches\":0,\"checkpoint_stall_s\":0,\"compute_s\":0.03125,"
      "\"exposed_comm_s\":0.0625,"
      "\"input_wait_s\":0.015625,\"other_s\":0.015625,\"resident_bytes\":null,"
      "\"rank_work_s\":null,\"slowest_rank\":null,\"slowest_excess\":null,\"straggler\":null,"
      "\"straggler_cost\":null,\"elapsed_s\":0,\"goodput\":{\"training\":0,\"start_up\":0,"
      "\"input_wait\":0,\"checkpoint\":0,\"evaluation\":0,\"lost\":0,\"lost_to_failures\":0,"
      "\"restarting\":0,\"other\":0}}");
}

TEST(Report, JsonHasWhatIsKnownOfRanksAndBlocks) {
  StepReport report = example();
  report.residentBytes = 4096;
  report.loads = loadsOf({0.25, 0.5}, 1);
  report.loads.straggler = {.rank = 1, .costShare = 0.25};
  report.goodput = {0.5, 0.25};
  report.elapsed = 8;
  report.norms = {{"h.0", 1.5}, {"odd \"name\"", 2}};
  EXPECT_EQ(stepAsJson(report).find("expert"), std::string::npos); // a model without them
  report.experts = ExpertLoads{.imbalance = 1.25, .rounds = 1, .rows = {{3, 1}, {2, 2}}};
  std::string json = stepAsJson(report);
  for (const char *field :
       {"\"resident_bytes\":4096,", "\"rank_work_s\":[0.25,0.5],\"slowest_rank\":1,",
        "\"slowest_excess\":0.125,\"straggler\":1,\"straggler_cost\":0.25,",
        "\"elapsed_s\":8,\"goodput\":{\"training\":0.5,\"start_up\":0.25,",
        "},\"expert_imbalance\":1.25,\"expert_rounds\":1,\"router_loss\":null,"
        "\"expert_load\":[1.5,1],",
        ",\"param_norms\":{\"h.0\":1.5,\"odd \\\"name\\\"\":2}}"})
    EXPECT_NE(json.find(field), std::string::npos) << field << " in " << json;
}

// A GPU does not measure instructions unless it is asked to.
TEST(Report, JsonHasNoSplitThatNobodyMeasured) {
  StepReport report = example();
  report.result.classSeconds = {};
  std::string json = stepAsJson(report);
  for (const char *field : {"\"exposed_comm_fraction\":null", "\"compute_s\":null",
                            "\"exposed_comm_s\":null", "\"other_s\":null"})
    EXPECT_NE(json.find(field), std::string::npos) << json;
  EXPECT_TRUE(stepAsText(report).ends_with("comm      -")) << stepAsText(report);
}

TEST(Report, JsonGivesTheLossBackExactly) {
  StepReport report = example();
  report.result.loss = std::nextafter(4.125f, 5.0f);
  std::string json = stepAsJson(report);
  float loss = std::strtof(json.c_str() + json.find("\"loss\":") + 7, nullptr);
  EXPECT_EQ(loss, report.result.loss);
}

TEST(Report, JsonHasNullForWhatIsNotKnownOrNotFinite) {
  StepReport report = example();
  report.result.loss = std::numeric_limits<float>::quiet_NaN();
  report.result.hasGradNorm = false;
  report.mfu = -1;
  std::string json = stepAsJson(report);
  for (const char *field : {"\"loss\":null,", "\"grad_norm\":null,", "\"mfu\":null,"})
    EXPECT_NE(json.find(field), std::string::npos) << json;
}

TEST(Report, CountsSamplesOfAModelWithoutSequences) {
  StepReport report = example();
  report.sequenceLength = 0;
  EXPECT_NE(stepAsJson(report).find("\"samples_per_s\":2600,\"tokens_per_s\":null,"),
            std::string::npos);
  EXPECT_NE(stepAsText(report).find(" 2.60k samples/s"), std::string::npos) << stepAsText(report);
}

TEST(Report, TextIsAlignedAndHasUnits) {
  EXPECT_EQ(stepAsText(example()),
            "step      3  loss   4.12500  grad norm     1.25  lr 5.000e-01     125 ms   41.6k "
            "tokens/s  MFU  12.3%  comm  50.0%");
  StepReport later = example();
  later.step = 1000;
  later.result.hasGradNorm = false;
  later.result.loss = -std::numeric_limits<float>::quiet_NaN();
  later.seconds = 2;
  EXPECT_EQ(stepAsText(later).size(), stepAsText(example()).size());
  EXPECT_NE(stepAsText(later).find("loss       nan"), std::string::npos) << stepAsText(later);
}

TEST(Report, SaysThatAStepWasSkipped) {
  StepReport report = example();
  EXPECT_EQ(stepAsText(report).find("skipped"), std::string::npos);
  report.isSkipped = true;
  EXPECT_NE(stepAsText(report).find("%  skipped: gradients are not finite (2 so far)"),
            std::string::npos)
      << stepAsText(report);
  report.result.hasLossScale = true;
  report.result.lossScale = 16777216;
  EXPECT_NE(stepAsText(report).find("(2 so far, loss scale 16777216)"), std::string::npos)
      << stepAsText(report);
  EXPECT_NE(stepAsJson(report).find("\"loss_scale\":16777216,\"roll_backs\":0,\"skipped_batches\":"
                                    "0,\"checkpoint_stall_s\":0,"),
            std::string::npos);
  report.checkpointStall = 0.25;
  EXPECT_TRUE(stepAsText(report).ends_with("  checkpoint 250 ms")) << stepAsText(report);
}

TEST(Report, AnEvaluationIsALineOfItsOwn) {
  EvaluationReport report{.step = 100, .loss = 4.125, .count = 65536, .countsTokens = true};
  EXPECT_EQ(evaluationAsText(report), "step    100  eval loss   4.12500 over 65536 tokens");
  EXPECT_EQ(evaluationAsJson(report), "{\"step\":100,\"eval_loss\":4.125,\"eval_tokens\":65536}");
  report.countsTokens = false;
  report.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(evaluationAsText(report), "step    100  eval loss       nan over 65536 samples");
  EXPECT_EQ(evaluationAsJson(report), "{\"step\":100,\"eval_loss\":null,\"eval_tokens\":null}");
}

TEST(Report, EventsHaveWhatIsKnownOfAStep) {
  StepReport report = example();
  report.result.hasLossScale = true;
  report.result.lossScale = 32768;
  report.residentBytes = 4096;
  report.loads = loadsOf({0.25, 0.5}, 1);
  report.goodput = {0.5};
  report.norms = {{"h.0", 1.5}};
  auto asText = [](const StepReport &of) {
    std::string all;
    for (const Scalar &scalar : scalarsOf(of))
      all += std::string(scalar.tag) + "=" + std::to_string(scalar.value) + "\n";
    return all;
  };
  EXPECT_EQ(asText(report),
            "train/loss=4.125000\ntrain/grad_norm=1.250000\ntrain/lr=0.500000\n"
            "train/loss_scale=32768.000000\ntrain/skipped_steps=2.000000\n"
            "speed/step_time_s=0.125000\nspeed/samples_per_s=2600.000000\n"
            "speed/tokens_per_s=41600.000000\nspeed/mfu=0.123000\n"
            "speed/exposed_comm_fraction=0.500000\nsplit/compute_s=0.031250\nsplit/"
            "exposed_comm_s=0.062500\n"
            "split/input_wait_s=0.015625\nsplit/checkpoint_stall_s=0.000000\n"
            "split/other_s=0.015625\n"
            "memory/peak_bytes=123456.000000\nmemory/resident_bytes=4096.000000\n"
            "ranks/work_s/0=0.250000\nranks/work_s/1=0.500000\nranks/slowest=1.000000\n"
            "ranks/slowest_excess=0.125000\n"
            "goodput/training=0.500000\ngoodput/start_up=0.000000\ngoodput/input_wait=0.000000\n"
            "goodput/checkpoint=0.000000\ngoodput/evaluation=0.000000\ngoodput/lost=0.000000\n"
            "goodput/lost_to_failures=0.000000\ngoodput/restarting=0.000000\n"
            "goodput/other=0.000000\nparam_norm/h.0=1.500000\n");
  report.rollBacks = 2;
  report.skippedBatches = 5;
  EXPECT_NE(asText(report).find("train/roll_backs=2.000000\ntrain/skipped_batches=5.000000\n"),
            std::string::npos);
  report.experts = ExpertLoads{.imbalance = 1.5, .rounds = 2, .rows = {{3, 1}, {2, 2}}};
  EXPECT_NE(asText(report).find("experts/imbalance=1.500000\nexperts/rounds=2.000000\n"
                                "experts/load/0=1.500000\nexperts/load/1=1.000000\n"),
            std::string::npos);
  report.experts = {};
  report.rollBacks = report.skippedBatches = 0;
  report.loads = {};
  report.residentBytes = 0;
  report.norms.clear();
  report.result.loss = std::numeric_limits<float>::quiet_NaN();
  report.result.hasGradNorm = report.result.hasLossScale = report.result.hasSkippedSteps = false;
  report.sequenceLength = 0;
  report.mfu = -1;
  EXPECT_EQ(asText(report),
            "train/lr=0.500000\nspeed/step_time_s=0.125000\n"
            "speed/samples_per_s=2600.000000\n"
            "speed/exposed_comm_fraction=0.500000\n"
            "split/compute_s=0.031250\nsplit/exposed_comm_s=0.062500\n"
            "split/input_wait_s=0.015625\nsplit/checkpoint_stall_s=0.000000\n"
            "split/other_s=0.015625\n"
            "memory/peak_bytes=123456.000000\n"
            "goodput/training=0.500000\ngoodput/start_up=0.000000\ngoodput/input_wait=0.000000\n"
            "goodput/checkpoint=0.000000\ngoodput/evaluation=0.000000\ngoodput/lost=0.000000\n"
            "goodput/lost_to_failures=0.000000\ngoodput/restarting=0.000000\n"
            "goodput/other=0.000000\n");
}

TEST(Report, SizesAreForPeople) {
  EXPECT_EQ(humanBytes(999), "999 bytes");
  EXPECT_EQ(humanBytes(1500), "1.5 kB");
  EXPECT_EQ(humanBytes(80'000'000'000), "80 GB");
}

} // namespace
} // namespace dtc::rt
