// The order of samples, and batches.
#include "runtime/data/Sampler.h"

#include <gtest/gtest.h>

#include <set>

namespace dtc::rt {
namespace {
// Token i is i.
class Counting final : public TokenSource {
public:
  explicit Counting(uint64_t count) : count(count) {}
  const std::string &name() const override { return label; }
  uint64_t size() const override { return count; }
  Status read(uint64_t begin, std::span<int32_t> out) const override {
    if (begin + out.size() > count)
      return Status::invalidArgument("past the end");
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<int32_t>(begin + i);
    return Status::okStatus();
  }

private:
  uint64_t count;
  std::string label = "counting";
};

Sampler make(const TokenSource &source, uint64_t length, uint64_t seed) {
  Sampler sampler;
  Status status = Sampler::create(source, length, seed, sampler);
  EXPECT_TRUE(status.ok()) << status.message();
  return sampler;
}

TEST(Permute, IsAPermutation) {
  for (uint64_t size : {1, 2, 3, 4, 5, 15, 16, 17, 64, 65, 1000, 4096, 5000})
    for (uint64_t epoch : {0, 1, 7}) {
      std::set<uint64_t> seen;
      for (uint64_t i = 0; i < size; ++i) {
        uint64_t image = permute(i, size, 42, epoch);
        ASSERT_LT(image, size);
        EXPECT_TRUE(seen.insert(image).second) << i << " of " << size;
      }
    }
}

TEST(Permute, WorksOnHugeRanges) {
  for (uint64_t size : {(uint64_t(1) << 40) + 3, ~uint64_t(0)}) {
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < 1000; ++i) {
      uint64_t image = permute(size - 1 - i, size, 1, 2);
      ASSERT_LT(image, size);
      EXPECT_TRUE(seen.insert(image).second);
    }
  }
}

TEST(Permute, DependsOnBothKeys) {
  auto order = [](uint64_t key0, uint64_t key1) {
    std::vector<uint64_t> result;
    for (uint64_t i = 0; i < 100; ++i)
      result.push_back(permute(i, 100, key0, key1));
    return result;
  };
  EXPECT_NE(order(1, 0), order(2, 0));
  EXPECT_NE(order(1, 0), order(1, 1));
  EXPECT_EQ(order(1, 0), order(1, 0));
}

// The place of an element is uniform over keys: chi-squared over 10 places, 9 degrees of freedom.
TEST(Permute, SpreadsEvenly) {
  for (uint64_t element : {0, 3, 9}) {
    double counts[10] = {};
    constexpr int trials = 20000;
    for (uint64_t key = 0; key < trials; ++key)
      ++counts[permute(element, 10, key, 5)];
    double chi = 0;
    for (double count : counts)
      chi += (count - trials / 10.0) * (count - trials / 10.0) / (trials / 10.0);
    EXPECT_LT(chi, 33.7) << element; // exceeded once in 10,000 by chance
  }
}

TEST(Sampler, CountsWindowsOfOneTokenMore) {
  EXPECT_EQ(make(Counting(11), 5, 0).windows(), 2u);
  EXPECT_EQ(make(Counting(10), 5, 0).windows(), 1u);
  EXPECT_EQ(make(Counting(6), 5, 0).windows(), 1u);
  EXPECT_EQ(make(Counting(2), 1, 0).windows(), 1u);
  EXPECT_EQ(make(Counting(6), 5, 0).start(12345), 0u);
}

TEST(Sampler, NamesASourceThatIsTooShort) {
  Sampler sampler;
  for (uint64_t count : {0, 1, 5}) {
    Status status = Sampler::create(Counting(count), 5, 0, sampler);
    EXPECT_EQ(status.statusCode(), StatusCode::InvalidArgument);
    EXPECT_EQ(status.message(), "sampling 'counting': it has " + std::to_string(count) +
                                    " tokens; one sample of length 5 needs 6");
  }
  EXPECT_FALSE(Sampler::create(Counting(5), 0, 0, sampler).ok());
}

TEST(Sampler, UsesEachWindowOnceAnEpochInAnotherOrder) {
  Counting source(101);
  Sampler sampler = make(source, 5, 7);
  std::vector<uint64_t> epochs[2];
  for (uint64_t g = 0; g < 40; ++g)
    epochs[g / 20].push_back(sampler.start(g));
  EXPECT_NE(epochs[0], epochs[1]);
  for (const auto &epoch : epochs) {
    std::set<uint64_t> starts(epoch.begin(), epoch.end());
    EXPECT_EQ(starts.size(), 20u);
    EXPECT_EQ(*starts.begin(), 0u);
    EXPECT_EQ(*starts.rbegin(), 95u);
  }
  EXPECT_NE(make(source, 5, 8).start(0) * 20 + make(source, 5, 8).start(1),
            sampler.start(0) * 20 + sampler.start(1));
}

TEST(FillBatch, GivesEveryPlanTheSameSamples) {
  Counting source(1001);
  Sampler sampler = make(source, 4, 3);
  constexpr uint64_t globalBatch = 12, T = 4;
  // One rank, one micro-batch: row r is sample r of the step.
  std::vector<int32_t> tokens(globalBatch * T), targets(globalBatch * T);
  BatchSpec one = {.globalBatch = 12, .microBatch = 12, .sequenceLength = T};
  ASSERT_TRUE(fillBatch(source, sampler, 3, one, tokens, targets).ok());
  for (uint64_t row = 0; row < globalBatch; ++row)
    for (uint64_t t = 0; t < T; ++t) {
      auto wanted = static_cast<int32_t>(sampler.start(2 * globalBatch + row) + t);
      EXPECT_EQ(tokens[row * T + t], wanted);
      EXPECT_EQ(targets[row * T + t], wanted + 1);
    }
  // Three ranks, two micro-batches of two, each rank the second half of the sequence.
  for (uint64_t rank = 0; rank < 3; ++rank) {
    BatchSpec part = {.globalBatch = 12,
                      .microBatch = 2,
                      .numMicroBatches = 2,
                      .dataParallelSize = 3,
                      .dataParallelCoordinate = rank,
                      .sequenceLength = T,
                      .sequenceBegin = 2,
                      .sequenceEnd = 4};
    std::vector<int32_t> mine(2 * 2 * 2), mineTargets(2 * 2 * 2);
    ASSERT_TRUE(fillBatch(source, sampler, 3, part, mine, mineTargets).ok());
    for (uint64_t m = 0; m < 2; ++m)
      for (uint64_t i = 0; i < 2; ++i)
        for (uint64_t t = 0; t < 2; ++t) {
          uint64_t row = m * 6 + rank * 2 + i, at = (m * 2 + i) * 2 + t;
          EXPECT_EQ(mine[at], tokens[row * T + 2 + t]);
          EXPECT_EQ(mineTargets[at], targets[row * T + 2 + t]);
        }
  }
  // Tokens alone, targets alone.
  std::vector<int32_t> alone(globalBatch * T);
  ASSERT_TRUE(fillBatch(source, sampler, 3, one, alone, {}).ok());
  EXPECT_EQ(alone, tokens);
  ASSERT_TRUE(fillBatch(source, sampler, 3, one, {}, alone).ok());
  EXPECT_EQ(alone, targets);
}

TEST(FillBatch, RefusesSizesThatDoNotAgree) {
  Counting source(1001);
  Sampler sampler = make(source, 4, 3);
  std::vector<int32_t> tokens(8), targets(8);
  const BatchSpec good = {
      .globalBatch = 4, .microBatch = 2, .dataParallelSize = 2, .sequenceLength = 4};
  auto message = [&](BatchSpec spec, uint64_t step = 1) {
    return fillBatch(source, sampler, step, spec, tokens, targets).message();
  };
  EXPECT_EQ(message(good), "");
  BatchSpec bad = good;
  bad.globalBatch = 5;
  EXPECT_EQ(message(bad), "reading a batch: micro-batch 2 x 1 x 2 ranks is not the global batch 5");
  bad = good;
  bad.dataParallelCoordinate = 2;
  EXPECT_EQ(message(bad), "reading a batch: coordinate 2 of 2 ranks");
  bad = good;
  bad.sequenceEnd = 5;
  EXPECT_EQ(message(bad), "reading a batch: tokens 0 to 5 of samples of length 4");
  bad.sequenceBegin = 3;
  bad.sequenceEnd = 3;
  EXPECT_EQ(message(bad), "reading a batch: tokens 3 to 3 of samples of length 4");
  bad = good;
  bad.sequenceLength = 8;
  EXPECT_EQ(message(bad), "reading a batch: samples of length 8 from a sampler of length 4");
  EXPECT_EQ(message(good, 0), "reading a batch: step 0; steps count from 1");
  tokens.resize(9);
  EXPECT_EQ(message(good), "reading a batch: the buffer holds 9 tokens; wanted 8");
}
} // namespace
} // namespace dtc::rt
