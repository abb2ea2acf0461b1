// Attention forward and backward, beside the same products as stored score matrices by oneDNN.
//
// Rates count 4 (forward) and 10 (backward) * queries * keys * headDim flops per head, causal ones
// halved, and with a window those that it leaves.
#include "bench/kernels/BenchSupport.h"
#include "kernels/cpu/Attention.h"
#include "kernels/cpu/Gemm.h"

#include <cmath>
#include <string>

namespace dtc::cpu::bench {

namespace {

struct Case {
  int64_t batch, tokens, heads, kvHeads, headDim;
  bool causal;
  float dropout;
  int64_t window = 0;
};

const Case kCases[] = {
    {1, 256, 12, 12, 64, true, 0},   {1, 1024, 12, 12, 64, true, 0},
    {1, 1024, 12, 12, 64, false, 0}, {1, 1024, 12, 12, 64, true, 0.1f},
    {4, 1024, 6, 6, 64, true, 0},    {1, 1024, 8, 2, 128, true, 0},
    {1, 4096, 4, 4, 64, true, 0},    {16, 64, 6, 6, 64, true, 0},
    {1, 16384, 2, 2, 64, true, 0},   {1, 16384, 2, 2, 64, true, 0, 512},
};

struct Problem {
  std::vector<float> q, k, v, out, lse, dout, dq, dk, dv, scratch;
  AttentionGradArgs args;

  explicit Problem(const Case &c) {
    int64_t size = c.batch * c.tokens * c.headDim;
    q = randomFloats(size * c.heads), k = randomFloats(size * c.kvHeads), v = k, dout = q;
    out.resize(q.size()), dq = out, dk.resize(k.size()), dv = dk;
    lse.resize(c.batch * c.heads * c.tokens), scratch = lse;
    args = {{q.data(),
             k.data(),
             v.data(),
             out.data(),
             lse.data(),
             c.batch,
             c.tokens,
             c.tokens,
             c.heads,
             c.kvHeads,
             c.headDim,
             c.causal,
             1 / std::sqrt(float(c.headDim)),
             c.dropout,
             1,
             2,
             3,
             0,
             0,
             c.heads},
            dout.data(),
            dq.data(),
            dk.data(),
            dv.data(),
            scratch.data()};
    args.forward.window = c.window;
  }
};

double scoreFlops(const Case &c) {
  double hidden = c.window > 0 ? 1 - double(c.window) / double(c.tokens) : 0;
  return 2.0 * c.batch * c.heads * c.tokens * c.tokens * c.headDim * (c.causal ? 0.5 : 1) *
         (1 - hidden * hidden);
}

// The two products of the forward pass alone, no softmax: an upper bound for a library attention.
void runProducts(benchmark::State &state, const Case &c, ThreadPool &pool) {
  Problem problem(c);
  std::vector<float> scores(c.heads * c.tokens * c.tokens);
  int64_t row = c.heads * c.headDim, kvRow = c.kvHeads * c.headDim;
  for (auto _ : state)
    for (int64_t b = 0; b < c.batch; ++b)
      pool.parallelFor(c.heads, 1, [&](int64_t begin, int64_t end) {
        for (int64_t h = begin; h < end; ++h) {
          float *score = scores.data() + h * c.tokens * c.tokens;
          int64_t kv = b * c.tokens * kvRow + h * c.kvHeads / c.heads * c.headDim;
          int64_t at = b * c.tokens * row + h * c.headDim;
          libraryGemm(GemmBackend::OneDnn,
                      {problem.q.data() + at, problem.k.data() + kv, score, c.tokens, c.tokens,
                       c.headDim, row, kvRow, c.tokens, false, true});
          libraryGemm(GemmBackend::OneDnn, {score, problem.v.data() + kv, problem.out.data() + at,
                                            c.tokens, c.headDim, c.tokens, c.tokens, kvRow, row});
        }
      });
  setRate(state, "GFLOP/s", 2 * scoreFlops(c));
}

void runForward(benchmark::State &state, const Case &c, ThreadPool &pool) {
  Problem problem(c);
  for (auto _ : state)
    attention(problem.args.forward, pool);
  setRate(state, "GFLOP/s", 2 * scoreFlops(c));
}

void runBackward(benchmark::State &state, const Case &c, ThreadPool &pool) {
  Problem problem(c);
  attention(problem.args.forward, pool);
  for (auto _ : state)
    attentionGrad(problem.args, pool);
  setRate(state, "GFLOP/s", 5 * scoreFlops(c));
}

std::string nameOf(const Case &c) {
  return "attention/B" + std::to_string(c.batch) + " T" + std::to_string(c.tokens) + " H" +
         std::to_string(c.heads) + ":" + std::to_string(c.kvHeads) + " D" +
         std::to_string(c.headDim) + (c.causal ? " causal" : " full") +
         (c.dropout > 0 ? " dropout" : "") +
         (c.window > 0 ? " window " + std::to_string(c.window) : "") + "/";
}

} // namespace

void registerAttention() {
  for (const Case &c : kCases)
    for (ThreadPool *pool : pools()) {
      std::string suffix = "/" + std::to_string(pool->size()) + " threads";
      auto add = [&](const char *what, auto *run) {
        auto body = [&c, pool, run](benchmark::State &state) { run(state, c, *pool); };
        setClock(benchmark::RegisterBenchmark((nameOf(c) + what + suffix).c_str(), body),
                 pool->size());
      };
      add("forward", runForward);
      add("backward", runBackward);
      if (c.dropout == 0 && c.tokens < 16384) // stored scores of more tokens take gigabytes
        add("oneDNN products", runProducts);
    }
}

} // namespace dtc::cpu::bench
