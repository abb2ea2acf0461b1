#include "compiler/price/uncertainty/Uncertainty.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace dtc;

namespace {

// Errors from a tenth less to a fifth more than estimated. Memory is 0.8 to 1.25 times the
// estimate, linear in its logarithm between the outermost levels.
ClassErrors example() {
  ClassErrors errors;
  errors.stack = "megatron-core";
  errors.device = "H100";
  errors.kind = ModelKind::Dense;
  errors.runs = 101;
  errors.devices = "H100";
  errors.timeLow = std::log(0.9);
  errors.timeHigh = std::log(1.2);
  errors.noise = 0.04;
  for (size_t i = 0; i < kErrorLevels.size(); ++i)
    errors.memory[i] = std::log(0.8) + (kErrorLevels[i] - 0.01) / 0.98 * std::log(1.25 / 0.8);
  return errors;
}

} // namespace

TEST(Uncertainty, GivesTheIntervalOfAStep) {
  Uncertainty errors(example());
  EXPECT_NEAR(errors.stepLowSeconds(10), 9, 1e-9);
  EXPECT_NEAR(errors.stepHighSeconds(10), 12, 1e-9);
  EXPECT_EQ(errors.noise(), 0.04);
}

// Half of the runs take at most the geometric mean of 0.8 and 1.25, which is 1.
TEST(Uncertainty, GivesTheProbabilityThatARunFits) {
  Uncertainty errors(example());
  EXPECT_NEAR(errors.fitProbability(80e9, 80e9), 0.5, 1e-9);
  EXPECT_NEAR(errors.fitProbability(100e9, 80e9), 0.01, 1e-9);
  EXPECT_NEAR(errors.fitProbability(64e9, 80e9), 0.99, 1e-9);
  // The limit is between two levels: log(1.1) / log(1.5625) is 0.2136 of the way.
  EXPECT_NEAR(errors.fitProbability(80e9, 88e9), 0.5 + 0.98 * 0.2136, 1e-4);
}

// The probability falls to a tenth from the 10th to the 1st percentile, within 9 of 98 parts of the
// logarithm.
TEST(Uncertainty, FallsOffBeyondWhatWasMeasured) {
  Uncertainty errors(example());
  double step = std::log(1.25 / 0.8) * 9 / 98;
  EXPECT_NEAR(errors.fitProbability(100e9 * std::exp(step), 80e9), 0.001, 1e-6);
  EXPECT_NEAR(errors.fitProbability(64e9 * std::exp(-step), 80e9), 0.999, 1e-6);
  EXPECT_NEAR(errors.memoryFactor(0.999), 1.25 * std::exp(step), 1e-6);
  EXPECT_NEAR(errors.memoryFactor(0.001), 0.8 * std::exp(-step), 1e-6);
}

TEST(Uncertainty, FactorIsTheInverseOfTheProbability) {
  Uncertainty errors(example());
  for (double probability : {0.003, 0.01, 0.03, 0.3, 0.5, 0.77, 0.95, 0.97, 0.99, 0.999}) {
    double factor = errors.memoryFactor(probability);
    EXPECT_NEAR(errors.fitProbability(80e9 / factor, 80e9), probability, 1e-9);
  }
}

TEST(Uncertainty, ExactIsTheEstimateItself) {
  Uncertainty exact = Uncertainty::exact();
  EXPECT_EQ(exact.stepLowSeconds(10), 10);
  EXPECT_EQ(exact.stepHighSeconds(10), 10);
  EXPECT_EQ(exact.fitProbability(80e9, 80e9), 1);
  EXPECT_EQ(exact.fitProbability(80e9 + 1, 80e9), 0);
  EXPECT_EQ(exact.memoryFactor(0.95), 1);
  EXPECT_EQ(exact.noise(), 0);
  EXPECT_EQ(exact.basis("dtc"), "programs that dtc plans to the byte");
}

TEST(Uncertainty, NothingAlwaysFits) {
  EXPECT_EQ(Uncertainty(example()).fitProbability(0, 80e9), 1);
  EXPECT_EQ(Uncertainty(example()).fitProbability(1, 0), 0);
}

// The text names what the runs had, and what of the plan's software, device and kind of model none
// of them had.
TEST(Uncertainty, SaysWhichRunsItIsFrom) {
  ClassErrors errors = example();
  errors.ownRuns = 101;
  ErrorClass key{{"megatron-core", "gpu", "dtc"}, "H100", ModelKind::Dense};
  auto basis = [&](const char *software = "megatron-core") {
    return Uncertainty(errors, key).basis(software);
  };
  EXPECT_EQ(basis(), "101 runs of dense models with megatron-core on H100");
  errors.ownRuns = 90;
  EXPECT_EQ(basis(), "101 runs of dense models with megatron-core or variants of it on H100");
  errors.ownRuns = 0;
  EXPECT_EQ(basis(),
            "101 runs of dense models with variants of megatron-core on H100; none was with "
            "megatron-core itself");
  errors.ownRuns = 101;
  key.stacks = {"dtc-gpu", "megatron-core", "gpu", "dtc"};
  EXPECT_EQ(basis("dtc"), "101 runs of dense models with megatron-core on H100; none was with dtc");
  key.device = "RTX4090";
  errors.kind = key.kind = ModelKind::Mixture;
  errors.devices = "A100+B200+H100";
  errors.runs = errors.ownRuns = 24;
  EXPECT_EQ(basis("dtc"),
            "24 runs of mixtures of experts with megatron-core on A100, B200 and H100, "
            "and those of like classes; none was with dtc, none on RTX4090");
  errors.stack = "dtc";
  errors.ownRuns = 0;
  errors.runs = 496;
  key.stacks = {"dtc"};
  EXPECT_EQ(basis("dtc"),
            "496 runs of mixtures of experts with other software on A100, B200 and H100; "
            "none was with dtc, none on RTX4090");
  errors.stack = "";
  errors.kind = std::nullopt;
  EXPECT_EQ(basis("dtc"),
            "496 runs on A100, B200 and H100; none was with dtc, none on RTX4090, none "
            "of mixtures of experts");
}

// Runs of a stack itself are those of no stack that extends it.
TEST(Uncertainty, CountsRunsOfAStackItself) {
  for (const ClassErrors &errors : errorTable()) {
    EXPECT_LE(errors.ownRuns, errors.runs);
    if (errors.stack.empty())
      EXPECT_EQ(errors.ownRuns, errors.runs);
    if (errors.stack == "dtc" || errors.stack == "gpu") // nothing was published
      EXPECT_EQ(errors.ownRuns, 0);
  }
}

// This covers every class of the file, and a class that the file does not have.
TEST(Uncertainty, IsMonotoneForAllClasses) {
  std::vector<Uncertainty> all{Uncertainty::of({{"nobody's"}, "H900", ModelKind::Mixture})};
  for (const ClassErrors &errors : errorTable())
    all.emplace_back(errors);
  for (const Uncertainty &errors : all) {
    EXPECT_LT(errors.stepLowSeconds(10), 10);
    EXPECT_GT(errors.stepHighSeconds(10), 10);
    EXPECT_GT(errors.stepLowSeconds(10), 3);
    EXPECT_LT(errors.stepHighSeconds(10), 50);
    EXPECT_GT(errors.noise(), 0.005);
    EXPECT_LT(errors.noise(), 0.3);
    double before = 1;
    for (double bytes = 1e9; bytes < 1e12; bytes *= 1.01) {
      double now = errors.fitProbability(bytes, 80e9);
      EXPECT_LE(now, before);
      EXPECT_GT(now, 0);
      before = now;
    }
    EXPECT_LT(before, 0.05);
    EXPECT_GT(errors.fitProbability(1e9, 80e9), 0.95);
    EXPECT_LT(errors.memoryFactor(0.5), errors.memoryFactor(0.95));
  }
}
