// Tokens a second of the packer, and of a step's reading of what it packed: packing is to be 20
// times as fast. Documents are as long as speeches of a play: 40 tokens on average, most shorter,
// some of several samples.
// Usage: PackBench
#include "runtime/data/DocumentSamples.h"
#include "runtime/data/Packing.h"
#include "runtime/data/Sampler.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

namespace dtc::rt {
namespace {

constexpr uint64_t kDocuments = 200000, kBatch = 16;

// Tokens that follow from their places.
class Numbers final : public TokenSource {
public:
  explicit Numbers(uint64_t count) : TokenSource(DataOrigin()), tokens(count) {
    for (uint64_t i = 0; i < count; ++i)
      tokens[i] = static_cast<int32_t>(i % 50000);
  }
  const std::string &name() const override { return called; }
  uint64_t size() const override { return tokens.size(); }
  Status read(uint64_t begin, std::span<int32_t> out) const override {
    std::copy_n(tokens.begin() + static_cast<int64_t>(begin), out.size(), out.begin());
    return {};
  }

private:
  std::vector<int32_t> tokens;
  std::string called = "numbers";
};

std::vector<uint64_t> speeches() {
  std::mt19937_64 generator(1);
  std::lognormal_distribution<double> length(3.2, 1.0);
  std::vector<uint64_t> ends;
  uint64_t end = 0;
  for (uint64_t i = 0; i < kDocuments; ++i)
    ends.push_back(end += 1 + static_cast<uint64_t>(length(generator)));
  return ends;
}

void setTokens(benchmark::State &state, uint64_t perIteration) {
  state.counters["tokens"] = benchmark::Counter(static_cast<double>(perIteration),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

void pack(benchmark::State &state, const std::vector<uint64_t> &ends, uint64_t length) {
  Packing packing;
  for (auto _ : state)
    (void)Packing::make(ends, length, LongDocuments::Split, 1, true, "numbers", packing);
  setTokens(state, ends.back());
  state.counters["empty, %"] = 100 * (1 - static_cast<double>(packing.tokens()) /
                                              static_cast<double>(packing.samples() * length));
}

// Fills the four inputs of a batch.
void read(benchmark::State &state, const std::vector<uint64_t> &ends, uint64_t length) {
  auto tokens = std::make_shared<Numbers>(ends.back());
  auto packing = std::make_shared<Packing>();
  (void)Packing::make(ends, length, LongDocuments::Split, 1, true, "numbers", *packing);
  Sampler sampler(packing->samples(), 1);
  BatchSpec spec = {
      .globalBatch = kBatch, .microBatch = kBatch, .runs = {{0, 0, length}}, .elements = length};
  std::vector<std::byte> batch(kBatch * length * kSampleElementBytes);
  uint64_t step = 0;
  for (auto _ : state) {
    ++step;
    for (DocumentInput input : {DocumentInput::Tokens, DocumentInput::Targets,
                                DocumentInput::Documents, DocumentInput::Positions})
      (void)fillBatch(*makePackedSamples(tokens, packing, input, -100), sampler, step, spec, batch);
  }
  setTokens(state, kBatch * length);
}

} // namespace
} // namespace dtc::rt

int main(int argc, char **argv) {
  using namespace dtc::rt;
  benchmark::Initialize(&argc, argv);
  if (argc != 1) {
    std::fprintf(stderr, "usage: PackBench [Google Benchmark's options]\n");
    return 2;
  }
  std::vector<uint64_t> ends = speeches();
  for (uint64_t length : {128u, 1024u, 8192u}) {
    std::string of = "/samples of " + std::to_string(length);
    benchmark::RegisterBenchmark(("pack" + of).c_str(), [&ends, length](benchmark::State &state) {
      pack(state, ends, length);
    });
    benchmark::RegisterBenchmark(("read" + of).c_str(), [&ends, length](benchmark::State &state) {
      read(state, ends, length);
    });
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
