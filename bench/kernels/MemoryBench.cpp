// Kernels bound by memory, beside memcpy of the same bytes. Rates count bytes read and written.
#include "bench/kernels/BenchSupport.h"
#include "kernels/cpu/Attention.h"
#include "kernels/cpu/Embedding.h"
#include "kernels/cpu/StridedCopy.h"

#include <cstring>
#include <string>

namespace dtc::cpu::bench {

namespace {

constexpr int64_t kRows = 50257, kColumns = 768, kTokens = 4096;

template <typename Body> void add(const char *name, double bytes, const Body &body) {
  for (ThreadPool *pool : pools()) {
    std::string full =
        std::string("memory/") + name + "/" + std::to_string(pool->size()) + " threads";
    auto run = [body, bytes, pool](benchmark::State &state) {
      body(state, *pool);
      setRate(state, "GB/s", bytes);
    };
    setClock(benchmark::RegisterBenchmark(full.c_str(), run), pool->size());
  }
}

std::vector<int32_t> spreadIds() {
  std::vector<int32_t> ids(kTokens);
  for (int64_t i = 0; i < kTokens; ++i)
    ids[i] = static_cast<int32_t>(i * 7919 % kRows);
  return ids;
}

void addCopy(const char *name, std::vector<int64_t> sizes, std::vector<int64_t> src,
             std::vector<int64_t> dst, bool accumulate) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  add(name, (accumulate ? 12.0 : 8.0) * count, [=](benchmark::State &state, ThreadPool &pool) {
    std::vector<float> from = randomFloats(count), to(from);
    for (auto _ : state)
      stridedCopy({from.data(), to.data(), 4, static_cast<int>(sizes.size()), sizes.data(),
                   src.data(), dst.data(), accumulate},
                  pool);
  });
}

} // namespace

void registerMemory() {
  add("memcpy 48 MiB", 8.0 * 4096 * 3072, [](benchmark::State &state, ThreadPool &pool) {
    std::vector<float> from = randomFloats(4096 * 3072), to(from);
    for (auto _ : state)
      pool.parallelFor(4096, 16, [&](int64_t begin, int64_t end) {
        std::memcpy(to.data() + begin * 3072, from.data() + begin * 3072, (end - begin) * 3072 * 4);
      });
  });
  addCopy("copy 4096x3072", {4096, 3072}, {3072, 1}, {3072, 1}, false);
  addCopy("add 4096x3072", {4096, 3072}, {3072, 1}, {3072, 1}, true);
  addCopy("transpose 4096x3072", {4096, 3072}, {3072, 1}, {1, 4096}, false);
  addCopy("heads [4,1024,12,64] to [4,12,1024,64]", {4, 1024, 12, 64}, {786432, 768, 64, 1},
          {786432, 64, 65536, 1}, false);
  add("embedding 4096x768", 8.0 * kTokens * kColumns,
      [](benchmark::State &state, ThreadPool &pool) {
        std::vector<float> table = randomFloats(kRows * kColumns), out(kTokens * kColumns);
        std::vector<int32_t> ids = spreadIds();
        for (auto _ : state)
          embedding(table.data(), ids.data(), out.data(), kRows, kColumns, kTokens, 0, pool);
      });
  add("embedding gradient 4096x768", 12.0 * kTokens * kColumns,
      [](benchmark::State &state, ThreadPool &pool) {
        std::vector<float> grad(kRows * kColumns), dout = randomFloats(kTokens * kColumns);
        std::vector<int32_t> ids = spreadIds();
        for (auto _ : state)
          embeddingGrad(grad.data(), ids.data(), dout.data(), kRows, kColumns, kTokens, 0, true,
                        pool);
      });
}

} // namespace dtc::cpu::bench
