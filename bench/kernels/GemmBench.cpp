// Matrix products of training steps: the choice of the table, each way to compute them, and one
// direct call of each library on one thread.
#include "bench/kernels/BenchSupport.h"
#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/GemmArgs.h"
#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/NarrowGemm.h"

#include <cmath>
#include <string>

namespace dtc::cpu::bench {

namespace {

struct Case {
  GemmShape shape;
  float beta;
  const char *what;
};

// tokens x (384, 768) x (1, 3, 4 times); the LM head; weight gradients (TN, beta 1); attention.
const Case kCases[] = {
    {{256, 768, 768, 1, false, true}, 0, "projection"},
    {{1024, 768, 768, 1, false, true}, 0, "projection"},
    {{1024, 1152, 384, 1, false, true}, 0, "qkv"},
    {{1024, 2304, 768, 1, false, true}, 0, "qkv"},
    {{1024, 1536, 384, 1, false, true}, 0, "mlp up"},
    {{1024, 3072, 768, 1, false, true}, 0, "mlp up"},
    {{4096, 3072, 768, 1, false, true}, 0, "mlp up"},
    {{1024, 768, 3072, 1, false, true}, 0, "mlp down"},
    {{1024, 768, 768, 1, false, false}, 0, "input gradient"},
    {{256, 768, 3072, 1, false, false}, 0, "input gradient"},
    {{1024, 768, 3072, 1, false, false}, 0, "input gradient"},
    {{4096, 3072, 768, 1, false, false}, 0, "input gradient"},
    {{768, 768, 1024, 1, true, false}, 1, "weight gradient"},
    {{2304, 768, 256, 1, true, false}, 1, "weight gradient"},
    {{3072, 768, 1024, 1, true, false}, 1, "weight gradient"},
    {{768, 3072, 4096, 1, true, false}, 1, "weight gradient"},
    {{1024, 50257, 768, 1, false, true}, 0, "LM head"},
    {{1024, 768, 50257, 1, false, false}, 0, "LM head input gradient"},
    {{50257, 768, 1024, 1, true, false}, 1, "LM head weight gradient"},
    {{1024, 1024, 64, 12, false, true}, 0, "scores"},
    {{1024, 64, 1024, 12, false, false}, 0, "values"},
    {{1024, 64, 1024, 12, true, false}, 0, "value gradient"},
    {{64, 1024, 1024, 12, false, true}, 0, "skinny"},
    {{1, 768, 768, 1, false, true}, 0, "one row"},
    {{8, 768, 768, 1, false, true}, 0, "few rows"},
    {{1024, 8, 768, 1, false, false}, 0, "router"},
    {{1024, 8, 768, 1, false, true}, 0, "router"},
    {{768, 8, 1024, 1, true, false}, 1, "router gradient"},
    {{16, 16, 16, 64, false, false}, 0, "tiny"},
    {{32, 32, 32, 64, false, false}, 0, "tiny"},
    {{64, 64, 64, 64, false, false}, 0, "small"},
    {{128, 128, 128, 16, false, false}, 0, "small"},
};

struct Operands {
  std::vector<float> a, b, c;
  GemmArgs args;

  explicit Operands(const Case &item) {
    const GemmShape &s = item.shape;
    a = randomFloats(s.batch * s.m * s.k), b = randomFloats(s.batch * s.k * s.n);
    c = randomFloats(s.batch * s.m * s.n);
    args = {a.data(),
            b.data(),
            c.data(),
            s.m,
            s.n,
            s.k,
            s.transA ? s.m : s.k,
            s.transB ? s.k : s.n,
            s.n,
            s.transA,
            s.transB,
            1,
            item.beta,
            s.batch,
            s.m * s.k,
            s.k * s.n,
            s.m * s.n};
  }
};

double flops(const GemmShape &s) { return 2.0 * s.m * s.n * s.k * s.batch; }

template <typename Run>
void add(const std::string &name, const Case &item, int threads, const Run &run) {
  auto body = [&item, run](benchmark::State &state) {
    Operands operands(item);
    for (auto _ : state) {
      run(operands.args);
      benchmark::ClobberMemory();
    }
    setRate(state, "GFLOP/s", flops(item.shape));
  };
  setClock(benchmark::RegisterBenchmark(name.c_str(), body), threads);
}

void callLibrary(GemmBackend backend, GemmArgs args) {
  for (int64_t i = 0; i < args.batch; ++i) {
    libraryGemm(backend, args);
    args.a += args.strideA, args.b += args.strideB, args.c += args.strideC;
  }
}

} // namespace

// The same products of bf16: as they are chosen, and packed to f32.
static void registerNarrow(const Case &item, const std::string &name, ThreadPool &pool) {
  using Multiply = void (*)(const NarrowGemmArgs &, ThreadPool &);
  for (auto [how, multiply] :
       {std::pair<const char *, Multiply>{"chosen", narrowGemm}, {"packed", packedNarrowGemm}}) {
    auto body = [&item, &pool, multiply](benchmark::State &state) {
      const GemmShape &s = item.shape;
      std::vector<uint16_t> a(s.batch * s.m * s.k, 0x3f81), b(s.batch * s.k * s.n, 0x3f82);
      std::vector<float> c(s.batch * s.m * s.n); // results as bf16 fit, too
      ElementType result = item.beta != 0 ? ElementType::F32 : ElementType::BF16;
      NarrowGemmArgs args{a.data(),
                          b.data(),
                          c.data(),
                          ElementType::BF16,
                          result,
                          s.m,
                          s.n,
                          s.k,
                          s.transA ? s.m : s.k,
                          s.transB ? s.k : s.n,
                          s.n,
                          s.transA,
                          s.transB,
                          1,
                          item.beta,
                          s.batch,
                          s.m * s.k,
                          s.k * s.n,
                          s.m * s.n};
      for (auto _ : state) {
        multiply(args, pool);
        benchmark::ClobberMemory();
      }
      setRate(state, "GFLOP/s", flops(s));
    };
    std::string full = name + "/bf16 " + how + "/" + std::to_string(pool.size()) + " threads";
    setClock(benchmark::RegisterBenchmark(full.c_str(), body), pool.size());
  }
}

void registerGemm() {
  for (const Case &item : kCases) {
    const GemmShape &s = item.shape;
    std::string name = "gemm/" + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" +
                       std::to_string(s.k) + (s.transA ? "/T" : "/N") + (s.transB ? "T" : "N") +
                       (s.batch > 1 ? "/batch " + std::to_string(s.batch) : "") + "/" + item.what;
    for (GemmBackend backend : {GemmBackend::OneDnn, GemmBackend::OpenBlas})
      add(name + "/" + gemmBackendName(backend) + " call", item, 1,
          [backend](const GemmArgs &args) { callLibrary(backend, args); });
    for (ThreadPool *pool : pools()) {
      std::string suffix = "/" + std::to_string(pool->size()) + " threads";
      add(name + "/tiles" + suffix, item, pool->size(), [pool](const GemmArgs &args) {
        gemmWithPlan(args, {GemmBackend::Tiles, 0, 0}, *pool);
      });
      GemmBackend chosen = chooseGemm(s, isaKernels().tileColumns / 2).backend;
      add(name + "/gemm=" + gemmBackendName(chosen) + suffix, item, pool->size(),
          [pool](const GemmArgs &args) { gemm(args, *pool); });
      registerNarrow(item, name, *pool);
    }
  }
}

} // namespace dtc::cpu::bench
