// Attention and its gradients in double, directly from their formulas.
#pragma once

#include "kernels/cpu/Attention.h"
#include "kernels/cpu/Philox.h"
#include "test/unit/kernels/KernelsTestSupport.h"

#include <algorithm>
#include <limits>

namespace dtc::cpu::test {

// The size of an attention problem, and what its queries see.
struct AttentionSizes {
  int64_t batch, queries, keys, heads, kvHeads, headDim;
  bool causal;
  int64_t window = 0;
  float softCap = 0;
  int64_t valueDim = 0; // 0: headDim
  int64_t prefix = 0;
  std::vector<int32_t> lengths = {};
  std::vector<int64_t> bias = {}; // empty: none
  bool slopes = false;
  std::vector<int32_t> documents = {}; // [batch, keys]; empty: one
  bool sinks = false;
  std::vector<int32_t> starts = {}; // of queries and keys; empty: the last query is at the last key

  // Returns the position of the first query, counted from the first key.
  int64_t firstPosition() const {
    return starts.empty() ? keys - queries : int64_t(starts[0]) - starts[1];
  }
  // Returns the head dim of values.
  int64_t valueColumns() const { return valueDim > 0 ? valueDim : headDim; }
};

// Returns the size in words, for messages.
inline std::string describe(const AttentionSizes &s) {
  std::string words = "batch " + std::to_string(s.batch) + ", queries " +
                      std::to_string(s.queries) + ", keys " + std::to_string(s.keys) + ", heads " +
                      std::to_string(s.heads) + "/" + std::to_string(s.kvHeads) + ", headDim " +
                      std::to_string(s.headDim) + (s.causal ? ", causal" : "");
  auto add = [&](const char *name, double number) {
    if (number > 0)
      words += std::string(", ") + name + " " + std::to_string(number);
  };
  add("window", static_cast<double>(s.window)), add("soft cap", s.softCap);
  add("valueDim", static_cast<double>(s.valueDim)), add("prefix", static_cast<double>(s.prefix));
  for (int64_t length : s.lengths)
    words += ", length " + std::to_string(length);
  for (int64_t size : s.bias)
    words += ", bias " + std::to_string(size);
  if (!s.documents.empty())
    words += ", documents " + std::to_string(s.documents.back() - s.documents.front() + 1);
  for (int32_t start : s.starts)
    words += ", start " + std::to_string(start);
  return words + (s.slopes ? ", slopes" : "") + (s.sinks ? ", sinks" : "");
}

// Returns the numbers of documents of `batch` samples of `keys` tokens, whose lengths are those of
// `lengths`, again and again. Each sample begins within another document, and numbers have gaps.
inline std::vector<int32_t> documentsOf(int64_t batch, int64_t keys,
                                        const std::vector<int64_t> &lengths) {
  std::vector<int32_t> numbers;
  size_t coordinates = 0;
  for (int64_t sample = 0; sample < batch; ++sample) {
    int64_t left = lengths[coordinates] / (sample + 1);
    int32_t number = 0;
    for (int64_t key = 0; key < keys; ++key) {
      while (left-- <= 0) {
        coordinates = (coordinates + 1) % lengths.size(), left = lengths[coordinates];
        number += 1 + static_cast<int32_t>(coordinates);
      }
      numbers.push_back(number);
    }
  }
  return numbers;
}

// One attention problem with its results and gradients.
struct AttentionProblem {
  AttentionSizes sizes;
  AttentionArgs args;
  std::vector<float> q, k, v, dout, out, lse, dq, dk, dv, scratch;
  std::vector<float> bias, dbias, slopes, sinks;
  std::vector<float> dlse; // empty: lse has no gradient

  explicit AttentionProblem(const AttentionSizes &s, float dropout = 0) : sizes(s) {
    int64_t results = s.batch * s.queries * s.heads * s.valueColumns();
    q = randomFloats(s.batch * s.queries * s.heads * s.headDim, 1);
    k = randomFloats(s.batch * s.keys * s.kvHeads * s.headDim, 2);
    v = randomFloats(s.batch * s.keys * s.kvHeads * s.valueColumns(), 3);
    dout = randomFloats(results, 4);
    for (float &value : q)
      value *= 3; // scores of several units, so that the softmax is far from uniform
    out.assign(results, -7), dq.assign(q.size(), -7);
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
    describeScores();
  }

  // Forgets results and gradients, so that those of another instruction set are not taken for new.
  void clear() {
    for (std::vector<float> *values : {&out, &lse, &dq, &dk, &dv, &dbias})
      std::fill(values->begin(), values->end(), -7.0f);
  }

  // Gives lse a gradient.
  void addGradientOfLse() { dlse = randomFloats(static_cast<int64_t>(lse.size()), 5); }

  // Returns the arguments of the kernel for the gradients.
  AttentionGradArgs gradArgs() {
    AttentionGradArgs grad{args,
                           dout.data(),
                           dq.data(),
                           dk.data(),
                           dv.data(),
                           scratch.data(),
                           dlse.empty() ? nullptr : dlse.data()};
    grad.dbias = dbias.empty() ? nullptr : dbias.data();
    return grad;
  }

private:
  // Sets what is added to scores, and which keys there are. Some of bias hides its keys.
  void describeScores() {
    args.valueDim = sizes.valueDim, args.prefix = sizes.prefix;
    if (!sizes.lengths.empty())
      args.lengths = sizes.lengths.data();
    if (!sizes.documents.empty())
      args.documents = sizes.documents.data();
    if (!sizes.starts.empty())
      args.starts = sizes.starts.data();
    if (!sizes.bias.empty()) {
      int64_t count = 1;
      for (size_t i = 0; i < 4; ++i)
        count *= args.biasSizes[i] = sizes.bias[i];
      bias = randomFloats(count, 6);
      for (size_t i = 4; i < bias.size(); i += 13)
        bias[i] = i % 2 == 0 ? -std::numeric_limits<float>::infinity() : -1e30f;
      dbias.assign(bias.size(), -7);
      args.bias = bias.data();
    }
    if (sizes.slopes) {
      for (int64_t head = 0; head < sizes.heads; ++head)
        slopes.push_back(std::exp2(-static_cast<float>(head + 1)));
      args.slopes = slopes.data();
    }
    if (sizes.sinks) { // the least matters to queries that see nothing, the largest to all
      for (int64_t head = 0; head < sizes.heads; ++head)
        sinks.push_back(static_cast<float>(head * 5 % 16) - 6);
      args.sinks = sinks.data();
    }
  }
};

// The results and gradients of a problem, in double.
struct AttentionReference {
  std::vector<double> out, lse, dq, dk, dv, dbias;

  explicit AttentionReference(const AttentionProblem &problem)
      : out(problem.out.size()), lse(problem.lse.size()), dq(problem.q.size()),
        dk(problem.k.size()), dv(problem.v.size()), dbias(problem.bias.size()) {
    const AttentionSizes &s = problem.sizes;
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = 0; i < s.queries; ++i)
          row(problem, b, h, i);
  }

private:
  // Returns the element of bias for a score.
  static size_t biasIndex(const AttentionSizes &s, int64_t b, int64_t h, int64_t i, int64_t j) {
    int64_t index = 0, coordinates[] = {b, h, i, j};
    for (size_t dim = 0; dim < 4; ++dim)
      index = index * s.bias[dim] + (s.bias[dim] > 1 ? coordinates[dim] : 0);
    return static_cast<size_t>(index);
  }

  // Returns the keys that a query sees, by the definition of each mask.
  static std::vector<int64_t> keysSeen(const AttentionProblem &p, int64_t b, int64_t h, int64_t i) {
    const AttentionSizes &s = p.sizes;
    int64_t position = i + s.firstPosition();
    int64_t prefix = s.prefix - (s.starts.empty() ? 0 : s.starts[1]);
    std::vector<int64_t> keys;
    for (int64_t j = 0; j < s.keys; ++j) {
      bool seen = !s.causal || j <= position || j < prefix;
      seen = seen && (s.window == 0 || j > position - s.window);
      seen = seen && (s.window == 0 || s.causal || j < position + s.window);
      seen = seen && (s.lengths.empty() || j < s.lengths[b]);
      seen = seen && (s.documents.empty() ||
                      s.documents[b * s.keys + j] == s.documents[b * s.keys + position]);
      seen = seen && (s.bias.empty() || p.bias[biasIndex(s, b, h, i, j)] > -1e30f);
      if (seen)
        keys.push_back(j);
    }
    return keys;
  }

  void row(const AttentionProblem &p, int64_t b, int64_t h, int64_t i) {
    const AttentionSizes &s = p.sizes;
    std::vector<int64_t> keys = keysSeen(p, b, h, i);
    int64_t kvHead = h / (s.heads / s.kvHeads), dims = s.valueColumns(), seen = keys.size();
    size_t query = ((b * s.queries + i) * s.heads + h) * s.headDim;
    size_t result = ((b * s.queries + i) * s.heads + h) * dims;
    auto token = [&](int64_t n) { return (b * s.keys + keys[n]) * s.kvHeads + kvHead; };
    auto key = [&](int64_t n) { return size_t(token(n) * s.headDim); };
    auto value = [&](int64_t n) { return size_t(token(n) * dims); };
    std::vector<double> weight(seen), factor(seen), product(seen), slope(seen, 1);
    double largest = -std::numeric_limits<double>::infinity(), total = 0, delta = 0;
    for (int64_t n = 0; n < seen; ++n) {
      for (int64_t d = 0; d < s.headDim; ++d)
        weight[n] += double(p.q[query + d]) * p.k[key(n) + d] * p.args.scale;
      if (s.softCap > 0) {
        double part = std::tanh(weight[n] / s.softCap);
        weight[n] = s.softCap * part;
        slope[n] = 1 - part * part;
      }
      if (!s.bias.empty())
        weight[n] += p.bias[biasIndex(s, b, h, i, keys[n])];
      if (s.slopes)
        weight[n] -= p.slopes[h] * std::abs(double(i + s.firstPosition() - keys[n]));
      largest = std::max(largest, weight[n]);
    }
    if (s.sinks) {
      largest = std::max(largest, double(p.sinks[h]));
      total = std::exp(p.sinks[h] - largest);
    }
    for (int64_t n = 0; n < seen; ++n)
      total += weight[n] = std::exp(weight[n] - largest);
    lse[(b * s.heads + h) * s.queries + i] = largest + std::log(total);
    for (int64_t n = 0; n < seen; ++n) {
      weight[n] /= total;
      factor[n] = dropoutFactor(p.args, b, h, i, keys[n]);
      for (int64_t d = 0; d < dims; ++d) {
        out[result + d] += weight[n] * factor[n] * p.v[value(n) + d];
        product[n] += double(p.dout[result + d]) * p.v[value(n) + d] * factor[n];
        dv[value(n) + d] += weight[n] * factor[n] * p.dout[result + d];
      }
      delta += weight[n] * product[n];
    }
    if (!p.dlse.empty())
      delta -= p.dlse[(b * s.heads + h) * s.queries + i];
    for (int64_t n = 0; n < seen; ++n) {
      double gradient = weight[n] * (product[n] - delta);
      if (!s.bias.empty())
        dbias[biasIndex(s, b, h, i, keys[n])] += gradient;
      for (int64_t d = 0; d < s.headDim; ++d) {
        double score = p.args.scale * gradient * slope[n];
        dq[query + d] += score * p.k[key(n) + d];
        dk[key(n) + d] += score * p.q[query + d];
      }
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

// Adds attention with sinks: with each mask and score, and with queries that see no key.
inline void addSinks(std::vector<AttentionSizes> &sizes) {
  for (bool causal : {false, true})
    for (int64_t tokens : {1, 33, 200})
      sizes.push_back({.batch = 2,
                       .queries = tokens,
                       .keys = tokens,
                       .heads = 4,
                       .kvHeads = 2,
                       .headDim = 16,
                       .causal = causal,
                       .sinks = true});
  AttentionSizes all{.batch = 3,
                     .queries = 300,
                     .keys = 300,
                     .heads = 4,
                     .kvHeads = 1,
                     .headDim = 24,
                     .causal = true,
                     .sinks = true};
  auto add = [&](auto change) { change(sizes.emplace_back(all)); };
  add([](AttentionSizes &s) { s.window = 20; });
  add([](AttentionSizes &s) { s.window = 20, s.causal = false; });
  add([](AttentionSizes &s) { s.window = 40, s.softCap = 2; });
  add([](AttentionSizes &s) { s.prefix = 100, s.valueDim = 40; });
  add([](AttentionSizes &s) { s.lengths = {300, 130, 0}; });
  add([](AttentionSizes &s) { s.bias = {1, 4, 300, 300}, s.slopes = true; });
  add([](AttentionSizes &s) { s.documents = documentsOf(3, 300, {35, 1, 90}); });
  add([](AttentionSizes &s) { s.keys = 33; });
  add([](AttentionSizes &s) { s.keys = 0; });
}

// Adds attention whose positions start elsewhere: queries among the keys, in front of all of them,
// right behind them and far behind, and keys that start late, with each mask and score.
inline void addStarts(std::vector<AttentionSizes> &sizes) {
  AttentionSizes all{.batch = 2,
                     .queries = 110,
                     .keys = 210,
                     .heads = 4,
                     .kvHeads = 2,
                     .headDim = 16,
                     .causal = true};
  for (std::vector<int32_t> starts : {std::vector<int32_t>{0, 0},
                                      {100, 0},
                                      {0, 100},
                                      {7, 300},
                                      {209, 0},
                                      {210, 0},
                                      {1000, 3},
                                      {1 << 29, 0}}) {
    all.starts = starts;
    auto add = [&](auto change) { change(sizes.emplace_back(all)); };
    add([](AttentionSizes &) {});
    add([](AttentionSizes &s) { s.window = 20; });
    add([](AttentionSizes &s) { s.window = 250, s.softCap = 2; });
    add([](AttentionSizes &s) { s.window = 33, s.causal = false; });
    add([](AttentionSizes &s) { s.window = 300, s.causal = false, s.lengths = {210, 40}; });
    add([](AttentionSizes &s) { s.prefix = 150, s.sinks = true; });
    if (starts[0] < 1000) // f32 rounds larger scores by more than the tolerance
      add([](AttentionSizes &s) { s.slopes = true, s.bias = {1, 4, 110, 210}; });
  }
  sizes.push_back({.batch = 1, // fewer keys than queries
                   .queries = 300,
                   .keys = 33,
                   .heads = 2,
                   .kvHeads = 1,
                   .headDim = 8,
                   .causal = true,
                   .window = 40,
                   .starts = {10, 50}});
}

// Returns edge sizes of tokens, heads and head dimension, with all masks.
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
  for (int64_t window : {1, 2, 33, 191, 193, 700}) // on both sides
    sizes.push_back({1, 700, 700, 2, 1, 16, false, window});
  sizes.push_back({1, 33, 400, 2, 2, 32, false, 100});
  for (int64_t window : {20, 100, 390}) // early queries are in front of all keys
    sizes.push_back({1, 400, 33, 2, 2, 32, false, window});
  sizes.push_back({1, 5, 0, 2, 2, 8, false, 3});
  sizes.push_back({2, 90, 90, 2, 2, 64, false, 0, 2.0f});
  sizes.push_back({1, 300, 300, 4, 2, 24, true, 0, 50.0f});
  sizes.push_back({1, 300, 333, 4, 2, 24, true, 77, 5.0f});
  for (int64_t prefix : {1, 32, 192, 250, 300})
    sizes.push_back({.batch = 1,
                     .queries = 300,
                     .keys = 300,
                     .heads = 2,
                     .kvHeads = 1,
                     .headDim = 16,
                     .causal = true,
                     .prefix = prefix});
  for (bool causal : {false, true}) // a sample with all keys, with some, and without
    sizes.push_back({.batch = 4,
                     .queries = 250,
                     .keys = 260,
                     .heads = 2,
                     .kvHeads = 1,
                     .headDim = 16,
                     .causal = causal,
                     .window = 50,
                     .lengths = {260, 193, 1, 0}});
  sizes.push_back({.batch = 2,
                   .queries = 33,
                   .keys = 33,
                   .heads = 2,
                   .kvHeads = 2,
                   .headDim = 192,
                   .causal = true,
                   .valueDim = 128});
  sizes.push_back({.batch = 1,
                   .queries = 40,
                   .keys = 200,
                   .heads = 4,
                   .kvHeads = 2,
                   .headDim = 24,
                   .causal = false,
                   .valueDim = 256,
                   .lengths = {195}});
  for (std::vector<int64_t> bias : {std::vector<int64_t>{2, 4, 210, 230},
                                    {1, 4, 210, 230},
                                    {2, 1, 1, 230},
                                    {1, 1, 210, 1},
                                    {1, 1, 1, 1},
                                    {1, 1, 210, 230}})
    sizes.push_back({.batch = 2,
                     .queries = 210,
                     .keys = 230,
                     .heads = 4,
                     .kvHeads = 2,
                     .headDim = 20,
                     .causal = bias[1] == 1,
                     .softCap = bias[0] == 1 ? 3.0f : 0.0f,
                     .bias = bias});
  sizes.push_back({.batch = 2,
                   .queries = 200,
                   .keys = 200,
                   .heads = 4,
                   .kvHeads = 2,
                   .headDim = 16,
                   .causal = true,
                   .slopes = true});
  sizes.push_back({.batch = 2,
                   .queries = 50,
                   .keys = 230,
                   .heads = 4,
                   .kvHeads = 4,
                   .headDim = 8,
                   .causal = false,
                   .valueDim = 4,
                   .lengths = {230, 40},
                   .bias = {1, 4, 50, 230},
                   .slopes = true});
  // Documents of one token, of several blocks, and that end at the borders of tiles.
  for (bool causal : {false, true})
    for (std::vector<int64_t> lengths :
         {std::vector<int64_t>{1}, {3, 1, 4}, {96, 192, 7}, {250, 5, 1, 1, 60}})
      sizes.push_back({.batch = 2,
                       .queries = causal ? 420 : 400,
                       .keys = 420,
                       .heads = 2,
                       .kvHeads = 1,
                       .headDim = 16,
                       .causal = causal,
                       .documents = documentsOf(2, 420, lengths)});
  sizes.push_back({.batch = 2,
                   .queries = 300,
                   .keys = 300,
                   .heads = 4,
                   .kvHeads = 2,
                   .headDim = 16,
                   .causal = true,
                   .window = 20,
                   .softCap = 3.0f,
                   .lengths = {300, 130},
                   .bias = {1, 4, 300, 300},
                   .slopes = true,
                   .documents = documentsOf(2, 300, {35, 1, 90})});
  sizes.push_back({.batch = 0,
                   .queries = 5,
                   .keys = 5,
                   .heads = 2,
                   .kvHeads = 2,
                   .headDim = 8,
                   .causal = false,
                   .bias = {1, 2, 5, 5}});
  addSinks(sizes);
  addStarts(sizes);
  return sizes;
}

} // namespace dtc::cpu::test
