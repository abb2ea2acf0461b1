// Tests the order of samples, and batches.
#include "runtime/data/Sampler.h"
#include "runtime/data/JoinedSamples.h"
#include "runtime/data/TokenSamples.h"

#include <gtest/gtest.h>

#include <set>

namespace dtc::rt {
namespace {
// A source in which token i is i.
class Counting final : public TokenSource {
public:
  explicit Counting(uint64_t count) : TokenSource({"counting", {}, {}}), count(count) {}
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

std::unique_ptr<SampleSource> windows(uint64_t tokens, uint64_t length, uint64_t shift = 0) {
  std::unique_ptr<SampleSource> source;
  Status status = makeTokenSamples(std::make_shared<Counting>(tokens), length, shift, source);
  EXPECT_TRUE(status.ok()) << status.message();
  return source;
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

// The place of an element is uniform over keys: chi-squared over 10 slots, 9 degrees of freedom.
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

TEST(Sampler, InOrderIsThatOfTheSourceThenItsFirstSample) {
  Sampler sampler = Sampler::inOrder(3);
  EXPECT_EQ(sampler.samples(), 3u);
  std::vector<uint64_t> order;
  for (uint64_t i = 0; i < 7; ++i)
    order.push_back(sampler.sample(i));
  EXPECT_EQ(order, (std::vector<uint64_t>{0, 1, 2, 0, 0, 0, 0}));
}

TEST(TokenSamples, CountsWindowsOfOneTokenMore) {
  EXPECT_EQ(windows(11, 5)->samples(), 2u);
  EXPECT_EQ(windows(10, 5)->samples(), 1u);
  EXPECT_EQ(windows(6, 5)->samples(), 1u);
  EXPECT_EQ(windows(2, 1)->samples(), 1u);
}

TEST(TokenSamples, NamesASourceThatIsTooShort) {
  std::unique_ptr<SampleSource> source;
  for (uint64_t count : {0, 1, 5}) {
    Status status = makeTokenSamples(std::make_shared<Counting>(count), 5, 0, source);
    EXPECT_EQ(status.statusCode(), StatusCode::InvalidArgument);
    EXPECT_EQ(status.message(), "sampling 'counting': it has " + std::to_string(count) +
                                    (count == 1 ? " token" : " tokens") +
                                    "; one sample of length 5 needs 6");
  }
  EXPECT_FALSE(makeTokenSamples(std::make_shared<Counting>(5), 0, 0, source).ok());
}

TEST(TokenSamples, ReadsWhatFollowsForTargets) {
  std::vector<int32_t> values(3);
  std::span<std::byte> bytes = std::as_writable_bytes(std::span(values));
  ASSERT_TRUE(windows(21, 5)->read(2, 1, bytes).ok());
  EXPECT_EQ(values, (std::vector<int32_t>{11, 12, 13}));
  ASSERT_TRUE(windows(21, 5, 1)->read(3, 2, bytes).ok());
  EXPECT_EQ(values, (std::vector<int32_t>{18, 19, 20}));
  EXPECT_EQ(windows(21, 5)->read(4, 0, bytes).message(),
            "reading 'counting': wanted 3 tokens from token 0 of sample 4, there are 4 samples of "
            "5");
  EXPECT_FALSE(windows(21, 5)->read(0, 3, bytes).ok());
}

TEST(Sampler, UsesEachSampleOnceAnEpochInAnotherOrder) {
  Sampler sampler(20, 7);
  std::vector<uint64_t> epochs[2];
  for (uint64_t g = 0; g < 40; ++g)
    epochs[g / 20].push_back(sampler.sample(g));
  EXPECT_NE(epochs[0], epochs[1]);
  for (const auto &epoch : epochs) {
    std::set<uint64_t> samples(epoch.begin(), epoch.end());
    EXPECT_EQ(samples.size(), 20u);
    EXPECT_EQ(*samples.rbegin(), 19u);
  }
  Sampler other(20, 8);
  EXPECT_NE(other.sample(0) * 20 + other.sample(1), sampler.sample(0) * 20 + sampler.sample(1));
}

// A run that resumes with another release must continue with the samples that it has not seen. The
// values are from test/run/reference/sampler.py.
TEST(Sampler, KeepsItsOrder) {
  auto order = [](uint64_t count, uint64_t seed, std::vector<uint64_t> positions) {
    Sampler sampler(count, seed);
    for (uint64_t &position : positions)
      position = sampler.sample(position);
    return positions;
  };
  using Order = std::vector<uint64_t>;
  EXPECT_EQ(order(20, 7, {0, 1, 2, 3, 4, 5}), (Order{12, 17, 14, 2, 7, 8}));
  EXPECT_EQ(order(20, 7, {18, 19, 20, 21, 22, 23}), (Order{3, 15, 13, 1, 9, 18})); // epochs 0, 1
  EXPECT_EQ(order(20, 8, {0, 1, 2, 3, 4, 5}), (Order{16, 2, 4, 17, 12, 14}));
  EXPECT_EQ(order(1000, 0, {0, 1, 999, 1000, 123456789}), (Order{93, 700, 459, 166, 34}));
  constexpr uint64_t huge = uint64_t(1) << 40;
  EXPECT_EQ(order(huge, 42, {0, 1, huge + 5}), (Order{289322530244, 841334321105, 556349158917}));
}

// The values are from test/run/reference/sampler.py.
TEST(Sampler, KeepsTheOrderOfMixtures) {
  auto order = [](std::vector<Sampler::Share> shares, uint64_t seed, uint64_t first,
                  uint64_t count) {
    Sampler sampler = Sampler::mixed(shares, seed);
    std::vector<uint64_t> samples;
    for (uint64_t g = first; g < first + count; ++g)
      samples.push_back(sampler.sample(g));
    return samples;
  };
  using Order = std::vector<uint64_t>;
  std::vector<Sampler::Share> two = {{20, 0.7}, {7, 0.3}};
  EXPECT_EQ(order(two, 3, 0, 12), (Order{0, 9, 21, 16, 10, 19, 13, 7, 25, 23, 17, 24}));
  EXPECT_EQ(order(two, 3, 1'000'000, 4), (Order{12, 23, 25, 4}));
  EXPECT_EQ(order({{9, 0.5}, {1000, 0.125}, {5, 0.375}}, 0, 5, 6),
            (Order{311, 5, 1010, 1011, 3, 2}));
}

TEST(Sampler, MixesByWeightAndReadsEachSourceInEpochs) {
  std::vector<Sampler::Share> shares = {{35, 0.7}, {10, 0.25}, {1, 0.05}};
  Sampler sampler = Sampler::mixed(shares, 11);
  EXPECT_EQ(sampler.samples(), 46u);
  std::vector<uint64_t> first(shares.size()), counts(46);
  for (uint64_t g = 0; g < 1000; ++g) {
    uint64_t sample = sampler.sample(g);
    ASSERT_LT(sample, 46u);
    ++counts[sample];
    first[sample < 35 ? 0 : sample < 45 ? 1 : 2] += g < 100; // a block has 100
  }
  EXPECT_EQ(first, (std::vector<uint64_t>{70, 25, 5}));
  for (uint64_t i = 0; i < 46; ++i)
    EXPECT_EQ(counts[i], i < 35 ? 20u : i < 45 ? 25u : 50u) << i;
  EXPECT_DOUBLE_EQ(sampler.drawnOf(1, 1000), 250);
  EXPECT_NE(Sampler::mixed(shares, 12).sample(0) * 46 + Sampler::mixed(shares, 12).sample(1),
            sampler.sample(0) * 46 + sampler.sample(1));
}

// Weights that no block of a million makes whole are rounded, and all slots are given away.
TEST(Sampler, RoundsWeightsOfMixtures) {
  constexpr double third = 1.0 / 3;
  Sampler sampler =
      Sampler::mixed(std::vector<Sampler::Share>{{5, third}, {5, third}, {5, third}}, 1);
  double sum = 0;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(sampler.drawnOf(i, 3'000'000), 1e6, 3);
    sum += sampler.drawnOf(i, 3'000'000);
  }
  EXPECT_DOUBLE_EQ(sum, 3e6);
  Sampler rare = Sampler::mixed(std::vector<Sampler::Share>{{5, 1 - 1e-9}, {5, 1e-9}}, 1);
  EXPECT_DOUBLE_EQ(rare.drawnOf(1, 1'000'000), 1);
  EXPECT_DOUBLE_EQ(rare.drawnOf(0, 1'000'000), 999'999);
}

TEST(JoinedSamples, ReadsEachPartByItsOwnNumbers) {
  std::vector<std::unique_ptr<SampleSource>> parts;
  parts.push_back(windows(11, 5));
  parts.push_back(windows(21, 5, 1));
  JoinedSamples joined(std::move(parts));
  EXPECT_EQ(joined.samples(), 6u);
  EXPECT_EQ(joined.name(), "counting and counting");
  std::vector<int32_t> values(2);
  std::span<std::byte> bytes = std::as_writable_bytes(std::span(values));
  ASSERT_TRUE(joined.read(1, 3, bytes).ok());
  EXPECT_EQ(values, (std::vector<int32_t>{8, 9}));
  ASSERT_TRUE(joined.read(2, 0, bytes).ok());
  EXPECT_EQ(values, (std::vector<int32_t>{1, 2}));
  ASSERT_TRUE(joined.read(5, 3, bytes).ok());
  EXPECT_EQ(values, (std::vector<int32_t>{19, 20}));
  EXPECT_EQ(joined.read(6, 0, bytes).message(),
            "reading 'counting and counting': wanted sample 6, there are 6");
}

TEST(FillBatch, GivesEveryPlanTheSameSamples) {
  constexpr uint64_t globalBatch = 12, T = 4;
  std::unique_ptr<SampleSource> source = windows(1001, T);
  Sampler sampler(source->samples(), 3);
  // The samples of step 3, which are 24 to 35 of all, from test/run/reference/sampler.py.
  constexpr int32_t samples[] = {233, 5, 174, 203, 113, 11, 42, 167, 151, 215, 157, 26};
  // One rank and one micro-batch: row r is sample r of the step.
  std::vector<int32_t> tokens(globalBatch * T);
  BatchSpec one = {.globalBatch = 12, .microBatch = 12, .runs = {{0, 0, T}}, .elements = T};
  auto bytesOf = [](std::vector<int32_t> &values) {
    return std::as_writable_bytes(std::span(values));
  };
  ASSERT_TRUE(fillBatch(*source, sampler, 3, one, bytesOf(tokens)).ok());
  for (uint64_t row = 0; row < globalBatch; ++row)
    for (uint64_t t = 0; t < T; ++t)
      EXPECT_EQ(tokens[row * T + t],
                samples[row] * static_cast<int32_t>(T) + static_cast<int32_t>(t));
  // Three ranks and two micro-batches of two. Each rank has the first and the last token of a
  // sample.
  for (uint64_t rank = 0; rank < 3; ++rank) {
    BatchSpec part = {.globalBatch = 12,
                      .microBatch = 2,
                      .numMicroBatches = 2,
                      .dataParallelSize = 3,
                      .dataParallelCoordinate = rank,
                      .runs = {{0, 0, 1}, {3, 1, 1}},
                      .elements = 2};
    std::vector<int32_t> mine(2 * 2 * 2);
    ASSERT_TRUE(fillBatch(*source, sampler, 3, part, bytesOf(mine)).ok());
    for (uint64_t m = 0; m < 2; ++m)
      for (uint64_t i = 0; i < 2; ++i)
        for (uint64_t t = 0; t < 2; ++t) {
          uint64_t row = m * 6 + rank * 2 + i;
          EXPECT_EQ(mine[(m * 2 + i) * 2 + t], samples[row] * 4 + static_cast<int32_t>(3 * t));
        }
  }
}

TEST(FillBatch, RefusesSizesThatDoNotAgree) {
  std::unique_ptr<SampleSource> source = windows(1001, 4);
  Sampler sampler(source->samples(), 3);
  std::vector<int32_t> tokens(8);
  const BatchSpec good = {
      .globalBatch = 4, .microBatch = 2, .dataParallelSize = 2, .runs = {{0, 0, 4}}, .elements = 4};
  auto message = [&](BatchSpec spec, uint64_t step = 1) {
    return fillBatch(*source, sampler, step, spec, std::as_writable_bytes(std::span(tokens)))
        .message();
  };
  EXPECT_EQ(message(good), "");
  BatchSpec bad = good;
  bad.globalBatch = 5;
  EXPECT_EQ(message(bad), "reading a batch: micro-batch 2 x 1 x 2 ranks is not the global batch 5");
  bad = good;
  bad.dataParallelCoordinate = 2;
  EXPECT_EQ(message(bad), "reading a batch: coordinate 2 of 2 ranks");
  bad = good;
  bad.runs = {{0, 1, 4}};
  EXPECT_EQ(message(bad), "reading a batch: 4 elements at 1 of a part of 4");
  bad.runs = {{1, 0, 4}};
  EXPECT_EQ(message(bad).rfind("reading 'counting': wanted 4 tokens from token 1", 0), 0u);
  EXPECT_EQ(message(good, 0), "reading a batch: step 0; steps count from 1");
  tokens.resize(9);
  EXPECT_EQ(message(good), "reading a batch: the buffer holds 36 bytes; wanted 32");
}
} // namespace
} // namespace dtc::rt
