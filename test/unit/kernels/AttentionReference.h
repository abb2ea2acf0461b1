// Attention and its gradients in double, directly from their formulas.
#pragma once

#include "kernels/cpu/Philox.h"
#include "test/unit/kernels/KernelsTestSupport.h"

#include <limits>

namespace dtc::cpu::test {

// The size of an attention problem.
struct AttentionSizes {
  int64_t batch, queries, keys, heads, kvHeads, headDim;
  bool causal;
  int64_t window = 0;
  float softCap = 0;
};

// Returns the size in words, for messages.
inline std::string describe(const AttentionSizes &s) {
  return "batch " + std::to_string(s.batch) + ", queries " + std::to_string(s.queries) + ", keys " +
         std::to_string(s.keys) + ", heads " + std::to_string(s.heads) + "/" +
         std::to_string(s.kvHeads) + ", headDim " + std::to_string(s.headDim) +
         (s.causal ? ", causal" : "") +
         (s.window > 0 ? ", window " + std::to_string(s.window) : "") +
         (s.softCap > 0 ? ", soft cap " + std::to_string(s.softCap) : "");
}

// One attention problem with its results and gradients.
struct AttentionProblem {
  AttentionSizes sizes;
  AttentionArgs args;
  std::vector<float> q, k, v, dout, out, lse, dq, dk, dv, scratch;
  std::vector<float> dlse; // empty: lse has no gradient

  explicit AttentionProblem(const AttentionSizes &s, float dropout = 0) : sizes(s) {
    q = randomFloats(s.batch * s.queries * s.heads * s.headDim, 1);
    k = randomFloats(s.batch * s.keys * s.kvHeads * s.headDim, 2);
    v = randomFloats(s.batch * s.keys * s.kvHeads * s.headDim, 3);
    dout = randomFloats(static_cast<int64_t>(q.size()), 4);
    for (float &value : q)
      value *= 3; // scores of several units, so that the softmax is far from uniform
    out.assign(q.size(), -7), dq.assign(q.size(), -7);
    dk.assign(k.size(), -7), dv.assign(v.size(), -7);
    lse.assign(s.batch * s.heads * s.queries, -7), scratch.assign(lse.size(), -7);
    args = {q.data(),
            k.data(),
            v.data(),
            out.data(),
            lse.data(),
            s.batch,
            s.queries,
            s.keys,
            s.heads,
            s.kvHeads,
            s.headDim,
            s.causal,
            1 / std::sqrt(float(s.headDim))};
    args.window = s.window, args.softCap = s.softCap;
    args.dropout = dropout;
    args.seed = 0x0123456789abcdef, args.dropoutId = 5, args.step = 17;
    args.globalBatch0 = 3, args.globalHead0 = 2, args.totalHeads = s.heads + 4;
  }

  // Gives lse a gradient.
  void addGradientOfLse() { dlse = randomFloats(static_cast<int64_t>(lse.size()), 5); }

  // Returns the arguments of the kernel for the gradients.
  AttentionGradArgs gradArgs() {
    return {args,
            dout.data(),
            dq.data(),
            dk.data(),
            dv.data(),
            scratch.data(),
            dlse.empty() ? nullptr : dlse.data()};
  }
};

// The results and gradients of a problem, in double.
struct AttentionReference {
  std::vector<double> out, lse, dq, dk, dv;

  explicit AttentionReference(const AttentionProblem &problem)
      : out(problem.q.size()), lse(problem.lse.size()), dq(problem.q.size()), dk(problem.k.size()),
        dv(problem.v.size()) {
    const AttentionSizes &s = problem.sizes;
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = 0; i < s.queries; ++i)
          row(problem, b, h, i);
  }

private:
  void row(const AttentionProblem &p, int64_t b, int64_t h, int64_t i) {
    const AttentionSizes &s = p.sizes;
    int64_t seen = s.causal ? std::clamp<int64_t>(i + 1 + s.keys - s.queries, 0, s.keys) : s.keys;
    int64_t hidden = s.window > 0 ? std::max<int64_t>(0, i + 1 + s.keys - s.queries - s.window) : 0;
    int64_t kvHead = h / (s.heads / s.kvHeads);
    size_t query = ((b * s.queries + i) * s.heads + h) * s.headDim;
    auto key = [&](int64_t j) {
      return size_t(((b * s.keys + j) * s.kvHeads + kvHead) * s.headDim);
    };
    std::vector<double> weight(seen), factor(seen), product(seen), slope(seen, 1);
    double largest = -std::numeric_limits<double>::infinity(), total = 0, delta = 0;
    for (int64_t j = hidden; j < seen; ++j) {
      for (int64_t d = 0; d < s.headDim; ++d)
        weight[j] += double(p.q[query + d]) * p.k[key(j) + d] * p.args.scale;
      if (s.softCap > 0) {
        double part = std::tanh(weight[j] / s.softCap);
        weight[j] = s.softCap * part;
        slope[j] = 1 - part * part;
      }
      largest = std::max(largest, weight[j]);
    }
    for (int64_t j = hidden; j < seen; ++j)
      total += weight[j] = std::exp(weight[j] - largest);
    lse[(b * s.heads + h) * s.queries + i] = largest + std::log(total);
    for (int64_t j = hidden; j < seen; ++j) {
      weight[j] /= total;
      factor[j] = dropoutFactor(p.args, b, h, i, j);
      for (int64_t d = 0; d < s.headDim; ++d) {
        out[query + d] += weight[j] * factor[j] * p.v[key(j) + d];
        product[j] += double(p.dout[query + d]) * p.v[key(j) + d] * factor[j];
        dv[key(j) + d] += weight[j] * factor[j] * p.dout[query + d];
      }
      delta += weight[j] * product[j];
    }
    if (!p.dlse.empty())
      delta -= p.dlse[(b * s.heads + h) * s.queries + i];
    for (int64_t j = hidden; j < seen; ++j)
      for (int64_t d = 0; d < s.headDim; ++d) {
        double score = p.args.scale * weight[j] * (product[j] - delta) * slope[j];
        dq[query + d] += score * p.k[key(j) + d];
        dk[key(j) + d] += score * p.q[query + d];
      }
  }

  static double dropoutFactor(const AttentionArgs &args, int64_t b, int64_t h, int64_t i,
                              int64_t j) {
    if (args.dropout == 0)
      return 1;
    uint64_t e =
        (((args.globalBatch0 + b) * args.totalHeads + args.globalHead0 + h) * args.queries + i) *
            args.keys +
        j;
    auto words = philox4x32(
        {uint32_t(e), uint32_t(e >> 32), uint32_t(args.dropoutId), uint32_t(args.step)}, args.seed);
    return words[0] >= double(args.dropout) * 4294967296.0 ? 1 / (1 - double(args.dropout)) : 0;
  }
};

// Returns edge sizes of tokens, heads and head dimension, with both masks.
inline std::vector<AttentionSizes> edgeSizes() {
  std::vector<AttentionSizes> sizes;
  for (bool causal : {false, true}) {
    for (int64_t tokens : {1, 31, 32, 33, 95, 97, 127, 200})
      sizes.push_back({1, tokens, tokens, 2, 2, 64, causal});
    sizes.push_back({2, 50, 50, 6, 2, 16, causal});  // grouped queries
    sizes.push_back({1, 40, 40, 4, 1, 80, causal});  // multi-query, headDim not a power of two
    sizes.push_back({1, 1, 300, 2, 1, 64, causal});  // one new token
    sizes.push_back({2, 33, 127, 2, 2, 32, causal}); // more keys than queries
    sizes.push_back({1, 127, 33, 2, 2, 32, causal}); // fewer: under causal, early rows see no key
    sizes.push_back({1, 60, 60, 1, 1, 1, causal});
    sizes.push_back({1, 60, 60, 3, 3, 7, causal});
    sizes.push_back({1, 100, 100, 1, 1, 128, causal});
    sizes.push_back({1, 5, 0, 2, 2, 8, causal}); // no key at all
    sizes.push_back({0, 5, 5, 2, 2, 8, causal});
    sizes.push_back({1, 0, 5, 2, 2, 8, causal});
  }
  sizes.push_back({1, 1000, 1000, 1, 1, 64, true});
  for (int64_t window : {1, 2, 31, 32, 33, 191, 193, 700})
    sizes.push_back({1, 700, 700, 2, 1, 16, true, window});
  sizes.push_back({1, 33, 400, 2, 2, 32, true, 100}); // keys that no query sees
  sizes.push_back({1, 400, 33, 2, 2, 32, true, 20});  // queries that see no key
  sizes.push_back({1, 5, 0, 2, 2, 8, true, 3});
  sizes.push_back({2, 90, 90, 2, 2, 64, false, 0, 2.0f});
  sizes.push_back({1, 300, 300, 4, 2, 24, true, 0, 50.0f});
  sizes.push_back({1, 300, 333, 4, 2, 24, true, 77, 5.0f});
  return sizes;
}

} // namespace dtc::cpu::test
