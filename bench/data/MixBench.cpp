// Seconds to fill a batch of 16 samples of 128 tokens: from one source and from a mixture of two.
// Usage: DataBench DIR_A DIR_B, of `dtc data build`.
#include "runtime/data/JoinedSamples.h"
#include "runtime/data/OpenTokens.h"
#include "runtime/data/Sampler.h"
#include "runtime/data/TokenSamples.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

namespace dtc::rt {
namespace {

constexpr uint64_t kBatch = 16, kLength = 128;

void must(const Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "DataBench: %s\n", status.message().c_str());
  std::exit(1);
}

std::unique_ptr<SampleSource> samplesOf(const std::string &folder) {
  std::unique_ptr<TokenSource> opened;
  std::unique_ptr<SampleSource> samples;
  must(openTokens(folder, {}, opened));
  must(
      makeTokenSamples(std::shared_ptr<const TokenSource>(std::move(opened)), kLength, 0, samples));
  return samples;
}

void fill(benchmark::State &state, const SampleSource &source, const Sampler &sampler) {
  BatchSpec spec = {
      .globalBatch = kBatch, .microBatch = kBatch, .runs = {{0, 0, kLength}}, .elements = kLength};
  std::vector<std::byte> batch(kBatch * kLength * kSampleElementBytes);
  uint64_t step = 0;
  for (auto _ : state)
    must(fillBatch(source, sampler, ++step, spec, batch));
}

} // namespace
} // namespace dtc::rt

int main(int argc, char **argv) {
  using namespace dtc::rt;
  benchmark::Initialize(&argc, argv);
  if (argc != 3) {
    std::fprintf(stderr, "usage: DataBench DIR_A DIR_B\n");
    return 2;
  }
  std::shared_ptr<SampleSource> one = samplesOf(argv[1]);
  std::vector<std::unique_ptr<SampleSource>> parts;
  parts.push_back(samplesOf(argv[1]));
  parts.push_back(samplesOf(argv[2]));
  std::vector<Sampler::Share> shares = {{parts[0]->samples(), 0.7}, {parts[1]->samples(), 0.3}};
  auto both = std::make_shared<JoinedSamples>(std::move(parts));
  benchmark::RegisterBenchmark("one source", [one](benchmark::State &state) {
    fill(state, *one, Sampler(one->samples(), 1));
  });
  benchmark::RegisterBenchmark("mixture of two", [both, shares](benchmark::State &state) {
    fill(state, *both, Sampler::mixed(shares, 1));
  });
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
