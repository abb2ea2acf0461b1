// The arguments of attention on the CPU device.
//
// All tensors are row-major f32 unless noted otherwise; sizes and strides are in elements. Every
// kernel splits its work over the given pool and gives bitwise the same result for any number of
// threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dtc::cpu {

// out = softmax(scale * q k^T + bias + mask) v, in blocks with a running maximum; the score matrix
// is never stored. Query i is at the position of key i + keys - queries, or at that which starts
// say; causal: it sees keys up to its position. Query head h reads kv head h / (heads/kvHeads);
// heads % kvHeads == 0. A query that sees no key gives zeros, and -inf for lse. With documents it
// sees keys of the number that its own key has. With sinks the softmax's sum, and so lse, has one
// more term for each query, whose score is that of its head and which has no value: lse of a query
// that sees no key is its sink.
//   q       [batch, queries, heads, headDim]
//   k       [batch, keys, kvHeads, headDim]
//   v       [batch, keys, kvHeads, valueDim]
//   out     [batch, queries, heads, valueDim]
//   lse     [batch, heads, queries]
//   bias    [batch, heads, queries, keys], each of them or 1, which is the same for all
// qRow, kRow, vRow: elements from one token to the next, 0 if they have no gaps. `globalHead0`,
// `globalBatch0` and `totalHeads` give the position of this rank's heads and batch in the whole, so
// that dropout does not depend on the plan. Source: Dao 2023, arXiv:2307.08691.
struct AttentionArgs {
  // Starts beyond this count as this, on every device, so that sums of positions fit in 32 bits.
  static constexpr int32_t kMostPosition = 1 << 29;

  const float *q, *k, *v;
  float *out, *lse;
  int64_t batch, queries, keys, heads, kvHeads, headDim;
  bool causal;
  float scale;
  float dropout = 0; // probability of zeroing a weight; kept weights are scaled by 1/(1-dropout)
  uint64_t seed = 0, dropoutId = 0, step = 0;
  int64_t globalBatch0 = 0, globalHead0 = 0, totalHeads = 0;
  int64_t qRow = 0, kRow = 0, vRow = 0;
  // The number of last keys that a query sees, its own included; 0: all. Unless causal, it sees as
  // many of the keys that follow.
  int64_t window = 0;
  float softCap = 0;    // above 0, scaled scores s become softCap * tanh(s / softCap)
  int64_t valueDim = 0; // 0: headDim
  // The number of first keys, or of positions from 0 on, that all queries see. Causal only
  int64_t prefix = 0;
  const int32_t *lengths = nullptr; // [batch]: number of first keys that a sample has; null: all
  // Added to scaled and capped scores; null: nothing. -1e30 and less hides the key.
  const float *bias = nullptr;
  int64_t biasSizes[4] = {1, 1, 1, 1}; // the dims of bias
  // [heads]: scores lose slope * distance of the positions (ALiBi, arXiv:2108.12409); null: nothing
  const float *slopes = nullptr;
  // [batch, keys]: the number of each key's document, which never falls in a sample; null: one
  const int32_t *documents = nullptr;
  // [heads]: the score of each head's sink, not scaled; null: none. Forward only
  const float *sinks = nullptr;
  // [2]: the positions of the first query and of the first key, 0 to kMostPosition; null: the last
  // query is at the position of the last key. Not with documents or dropout
  const int32_t *starts = nullptr;
  int64_t sampleKeys = INT64_MAX; // set by the kernels: the length of one sample
  // [batch, keys], set by the kernels: the first key of each key's document, and one past its last
  const int32_t *documentBegin = nullptr, *documentEnd = nullptr;
};

// Gradients of attention(); `out` and `lse` are its results. Sinks, which lse has, are not read:
// their gradient is not made here. scratch: f32 [batch, heads, queries].
// dbias, which is summed over the dims of size 1 of bias, computes the scores once more.
// Source: Dao 2023, arXiv:2307.08691, algorithm 2.
struct AttentionGradArgs {
  AttentionArgs forward; // out and lse are inputs
  const float *dout;
  float *dq, *dk, *dv;
  float *scratch;
  const float *dlse = nullptr; // gradient of lse, as lse; null: none
  int64_t dqRow = 0, dkRow = 0, dvRow = 0;
  float *dbias = nullptr; // as bias; null: none
};

} // namespace dtc::cpu
