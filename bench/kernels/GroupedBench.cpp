// Products of groups of rows beside one dense product of all rows, at the sizes of a small Mixtral:
// even groups, groups of which one has half of the rows, and many small ones.
#include "bench/kernels/BenchSupport.h"
#include "kernels/cpu/GroupedGemm.h"

#include <string>

namespace dtc::cpu::bench {

namespace {

enum class Form { Rows, Transposed, Sums };

struct Case {
  const char *what;
  Form form;
  int64_t k, n;
};

const Case kCases[] = {{"up", Form::Transposed, 512, 1792},
                       {"down", Form::Transposed, 1792, 512},
                       {"input gradient", Form::Rows, 1792, 512},
                       {"weight gradient", Form::Sums, 1792, 512}};

constexpr int64_t kRows = 2048;

struct Routing {
  const char *what;
  std::vector<int32_t> counts;
};

std::vector<Routing> routings() {
  Routing uneven{"uneven", std::vector<int32_t>(8, kRows / 14)};
  uneven.counts[3] = kRows - 7 * (kRows / 14); // half of all
  return {{"dense", {kRows}},
          {"8 even", std::vector<int32_t>(8, kRows / 8)},
          uneven,
          {"64 even", std::vector<int32_t>(64, kRows / 64)}};
}

void addCase(const Case &item, const Routing &routing, ElementType type, ThreadPool &pool) {
  auto body = [item, routing, type, &pool](benchmark::State &state) {
    auto groups = static_cast<int64_t>(routing.counts.size()), matrices = groups * item.k * item.n;
    bool sums = item.form == Form::Sums;
    std::vector<float> a = randomFloats(kRows * item.k),
                       b = randomFloats(sums ? kRows * item.n : matrices),
                       c = randomFloats(sums ? matrices : kRows * item.n);
    // 16-bit numbers that are normal.
    std::vector<uint16_t> narrowA(a.size(), 0x3f81), narrowB(b.size(), 0x3f82);
    bool wide = type == ElementType::F32;
    GroupedGemmArgs args{.a = wide ? static_cast<const void *>(a.data()) : narrowA.data(),
                         .b = wide ? static_cast<const void *>(b.data()) : narrowB.data(),
                         .c = c.data(),
                         .counts = routing.counts.data(),
                         .type = type,
                         .resultType = sums ? ElementType::F32 : type,
                         .groups = groups,
                         .samples = 1,
                         .rows = kRows,
                         .k = item.k,
                         .n = item.n,
                         .transB = item.form == Form::Transposed,
                         .sumsRows = sums,
                         .accumulate = sums};
    for (auto _ : state) {
      groupedGemm(args, pool);
      benchmark::ClobberMemory();
    }
    setRate(state, "GFLOP/s", 2.0 * kRows * item.k * item.n);
  };
  std::string name = std::string("grouped/") + item.what + "/" + nameOf(type) + "/" + routing.what +
                     "/" + std::to_string(pool.size()) + " threads";
  setClock(benchmark::RegisterBenchmark(name.c_str(), body), pool.size());
}

} // namespace

void registerGrouped() {
  for (ThreadPool *pool : pools())
    for (ElementType type : {ElementType::F32, ElementType::BF16, ElementType::F16})
      for (const Case &item : kCases)
        for (const Routing &routing : routings())
          addCase(item, routing, type, *pool);
}

} // namespace dtc::cpu::bench
