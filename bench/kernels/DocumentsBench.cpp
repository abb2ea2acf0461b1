// Attention of packed documents, beside that of each document alone: what packing costs more is
// what its blocks compute of scores that no query sees.
//
// Documents have 1 to 4,096 tokens, as many of each power of two, and fill a sample of 16,384.
// "tiny" has documents of 1 to 64 tokens. Times are those of forward and backward together.
#include "bench/kernels/BenchSupport.h"
#include "kernels/cpu/Attention.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

namespace dtc::cpu::bench {

namespace {

constexpr int64_t kTokens = 16384, kHeads = 4, kKvHeads = 2, kHeadDim = 64;

// Returns lengths of documents that add up to kTokens.
std::vector<int64_t> lengthsOf(double most) {
  std::minstd_rand generator(3);
  std::vector<int64_t> lengths;
  for (int64_t left = kTokens; left > 0; left -= lengths.back()) {
    double part = static_cast<double>(generator() % 10001) / 10000;
    lengths.push_back(std::min(left, static_cast<int64_t>(std::exp2(part * std::log2(most)))));
  }
  return lengths;
}

struct Problem {
  std::vector<int64_t> lengths;
  std::vector<int32_t> documents;
  std::vector<float> q, k, v, out, lse, dout, dq, dk, dv, scratch;

  explicit Problem(double most) : lengths(lengthsOf(most)) {
    for (size_t i = 0; i < lengths.size(); ++i)
      documents.insert(documents.end(), static_cast<size_t>(lengths[i]), static_cast<int32_t>(i));
    q = dout = randomFloats(kTokens * kHeads * kHeadDim);
    k = v = randomFloats(kTokens * kKvHeads * kHeadDim);
    out = dq = q, dk = dv = k;
    lse.resize(kTokens * kHeads), scratch = lse;
  }

  // Computes attention and its gradients of tokens [begin, begin + count).
  void run(int64_t begin, int64_t count, bool isPacked, ThreadPool &pool) {
    int64_t query = begin * kHeads * kHeadDim, key = begin * kKvHeads * kHeadDim;
    AttentionGradArgs args{{q.data() + query, k.data() + key, v.data() + key, out.data() + query,
                            lse.data() + begin * kHeads, 1, count, count, kHeads, kKvHeads,
                            kHeadDim, true, 1 / std::sqrt(float(kHeadDim))},
                           dout.data() + query,
                           dq.data() + query,
                           dk.data() + key,
                           dv.data() + key,
                           scratch.data() + begin * kHeads};
    args.forward.documents = isPacked ? documents.data() : nullptr;
    attention(args.forward, pool);
    attentionGrad(args, pool);
  }
};

} // namespace

void registerDocuments() {
  for (bool isTiny : {false, true})
    for (ThreadPool *pool : pools())
      for (bool isPacked : {true, false}) {
        auto body = [=](benchmark::State &state) {
          Problem problem(isTiny ? 64 : 4096);
          for (auto _ : state) {
            int64_t begin = 0;
            if (isPacked)
              problem.run(0, kTokens, true, *pool);
            for (int64_t length : problem.lengths) {
              if (!isPacked)
                problem.run(begin, length, false, *pool);
              begin += length;
            }
          }
          state.counters["documents"] = static_cast<double>(problem.lengths.size());
        };
        std::string name = std::string("documents/") + (isTiny ? "tiny " : "") +
                           (isPacked ? "packed/" : "alone/") + std::to_string(pool->size()) +
                           " threads";
        setClock(benchmark::RegisterBenchmark(name.c_str(), body), pool->size());
      }
}

} // namespace dtc::cpu::bench
