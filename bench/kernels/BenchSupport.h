// Pools, data and rates that the kernel benchmarks share.
#pragma once

#include "kernels/cpu/ThreadPool.h"

#include <benchmark/benchmark.h>
#include <cstdint>
#include <random>
#include <vector>

namespace dtc::cpu::bench {

// Returns pools of the sizes that --threads names ("1,2" by default). The pools live as long as the
// program.
const std::vector<ThreadPool *> &pools();

// Returns `count` numbers in [-1, 1], the same on every call.
inline std::vector<float> randomFloats(int64_t count) {
  std::minstd_rand generator(1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float &value : values)
    value = static_cast<float>(generator() % 2001) / 1000 - 1;
  return values;
}

// Sets the clock of a benchmark. Rates of one thread are by its CPU time, which other programs on
// the machine disturb less; rates of several threads are by wall time.
inline void setClock(benchmark::internal::Benchmark *bench, int threads) {
  bench->MinTime(0.2);
  if (threads > 1)
    bench->UseRealTime();
}

// Sets the rate of one iteration's work: GFLOP/s or GB/s.
inline void setRate(benchmark::State &state, const char *unit, double perIteration) {
  state.counters[unit] =
      benchmark::Counter(perIteration * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

// Registers the benchmarks of matrix products.
void registerGemm();
// Registers the benchmarks of products of groups of rows.
void registerGrouped();
// Registers the benchmarks of attention.
void registerAttention();
// Registers the benchmarks of attention of packed documents.
void registerDocuments();
// Registers the benchmarks of kernels that memory bandwidth limits.
void registerMemory();

} // namespace dtc::cpu::bench
