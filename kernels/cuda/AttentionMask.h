// The keys that a query sees, and the weights that dropout keeps: bitwise the same as on CPUs.
#pragma once

#include "kernels/cuda/AttentionParams.h"
#include "kernels/cuda/Device.h"

namespace dtc::cuda {

// Returns the first key that a query sees. `offset` is the index of the key at the position of
// query 0.
DTC_DEVICE int firstKey(const AttentionParams &p, int query, int offset) {
  return p.window > 0 ? greatest(0, query + 1 + offset - p.window) : 0;
}
DTC_DEVICE int firstKey(const AttentionParams &p, int query) {
  return firstKey(p, query, p.keys - p.queries);
}
// Returns one past the last key that a query sees. Windows on both sides are SampleMask's, as the
// tensor-core kernels have no registers left for them.
DTC_DEVICE int endKey(const AttentionParams &p, int query, int offset) {
  return p.causal ? greatest(0, least(p.keys, query + 1 + offset)) : p.keys;
}
DTC_DEVICE int endKey(const AttentionParams &p, int query) {
  return endKey(p, query, p.keys - p.queries);
}
// True if the query sees the key.
DTC_DEVICE bool sees(const AttentionParams &p, int query, int key) {
  return key >= firstKey(p, query) && key < endKey(p, query);
}
// True if queries [query, query + rows) all exist and see all keys [key, key + columns).
DTC_DEVICE bool allSeen(const AttentionParams &p, int query, int rows, int key, int columns) {
  return query + rows <= p.queries && key + columns <= endKey(p, query) &&
         key >= firstKey(p, query + rows - 1);
}
// Returns the first query that may see key `key` or a later one.
DTC_DEVICE int firstQuery(const AttentionParams &p, int key, int offset) {
  return p.causal ? greatest(0, key - offset) : 0;
}
DTC_DEVICE int firstQuery(const AttentionParams &p, int key) {
  return firstQuery(p, key, p.keys - p.queries);
}
// Returns one past the last query that may see some of keys [key, key + columns).
DTC_DEVICE int endQuery(const AttentionParams &p, int key, int columns, int offset,
                        bool isWindowed) {
  int last = least(p.keys, key + columns) - 1;
  return isWindowed ? greatest(0, least(p.queries, last - offset + p.window)) : p.queries;
}
DTC_DEVICE int endQuery(const AttentionParams &p, int key, int columns) {
  return endQuery(p, key, columns, p.keys - p.queries, p.window > 0 && p.window < p.keys);
}

// The head dim of values and results.
DTC_DEVICE int valueDim(const AttentionParams &p) {
  return p.valueDim > 0 ? p.valueDim : p.headDim;
}

// Returns the position of the first query, or of the first key, that starts have: 0 to 2^29, as
// AttentionArgs::kMostPosition.
DTC_DEVICE int startOf(const AttentionParams &p, int which) {
  return greatest(0, least(p.starts[which], kMostPosition));
}
// Returns the index of the key at the position of query 0, which may be none of the keys.
DTC_DEVICE int keyOfFirstQuery(const AttentionParams &p) {
  return p.hasStarts ? startOf(p, 0) - startOf(p, 1) : p.keys - p.queries;
}

// The keys that queries of one sample see, with lengths, prefixes, documents, positions that start
// elsewhere and windows on both sides, which only the general kernels have.
struct SampleMask {
  int keys;                 // the number of first keys that the sample has
  int offset, prefix;       // the key of query 0, and the number of first keys that all see
  const int32_t *documents; // the number of each key's document; null: all are of one
  DTC_DEVICE SampleMask(const AttentionParams &p, int batchIndex)
      : keys(p.hasLengths ? least(p.keys, p.lengths[batchIndex]) : p.keys),
        offset(keyOfFirstQuery(p)), prefix(p.hasStarts ? p.prefix - startOf(p, 1) : p.prefix),
        documents(p.hasDocuments ? p.documents + static_cast<int64_t>(batchIndex) * p.keys
                                 : nullptr) {}

  // Returns the first key, or one past the last, of the document of the key at a query's position.
  // Searches by halves: numbers do not fall, and the range is within the sample even if they do.
  DTC_DEVICE int documentBound(const AttentionParams &p, int query, bool isEnd) const {
    int own = query + offset, number = documents[own];
    int low = isEnd ? own + 1 : 0, high = isEnd ? p.keys : own;
    while (low < high) {
      int middle = low + (high - low) / 2;
      bool isBefore = isEnd ? documents[middle] <= number : documents[middle] < number;
      low = isBefore ? middle + 1 : low;
      high = isBefore ? high : middle;
    }
    return low;
  }
  // Returns the first key that the queries of a block see, whose first one is given.
  DTC_DEVICE int blockBegin(const AttentionParams &p, int query) const {
    int first = firstKey(p, query, offset);
    return documents ? greatest(first, documentBound(p, query, false)) : first;
  }
  // Returns one past the last key that the queries of a block see, whose last one is given.
  DTC_DEVICE int blockEnd(const AttentionParams &p, int query) const {
    int end = endKey(p, query);
    return documents ? least(end, documentBound(p, query, true)) : end;
  }

  // Returns one past the last key that a query sees.
  DTC_DEVICE int endKey(const AttentionParams &p, int query) const {
    int end = hasNext(p) ? query + offset + p.window : cuda::endKey(p, query, offset);
    return greatest(0, least(keys, greatest(end, prefix)));
  }
  // True if the query sees the key.
  DTC_DEVICE bool sees(const AttentionParams &p, int query, int key) const {
    return key >= firstKey(p, query, offset) && key < endKey(p, query) &&
           (!documents || documents[key] == documents[query + offset]);
  }
  // Returns one past the last query that may see some of keys [key, key + columns).
  DTC_DEVICE int endQuery(const AttentionParams &p, int key, int columns) const {
    bool isWindowed = p.window > 0 && (p.hasStarts || p.window < p.keys);
    int end = cuda::endQuery(p, key, columns, offset, isWindowed);
    if (!documents)
      return end;
    int last = least(p.keys, key + columns) - 1 - offset; // the last key's own query
    return last < 0 ? end : least(end, documentBound(p, last, true) - offset);
  }
  // Returns the first query that may see key `key` or a later one.
  DTC_DEVICE int firstQuery(const AttentionParams &p, int key) const {
    int own = key - offset, first = firstOfAll(p, key);
    if (!documents || own < 0)
      return first;
    return greatest(first, documentBound(p, own, false) - offset);
  }
  // Returns the first query that may see key `key` or a later one if all keys are of one document.
  DTC_DEVICE int firstOfAll(const AttentionParams &p, int key) const {
    if (hasNext(p))
      return key >= keys ? p.queries : greatest(0, key - offset + 1 - p.window);
    return key >= keys ? p.queries : (key < prefix ? 0 : cuda::firstQuery(p, key, offset));
  }
  // True if a query sees keys behind its own, and maybe not all of them.
  DTC_DEVICE static bool hasNext(const AttentionParams &p) {
    return !p.causal && p.window > 0 && (p.hasStarts || p.window < p.queries + p.keys);
  }
};

// The numbers that are added to the scores of one head, in units of log 2: bias, and less
// slope * distance.
class AddedScores {
public:
  DTC_DEVICE AddedScores(const AttentionParams &p, int batchIndex, int head)
      : isSome(p.biasSizes[0] > 0 || p.hasSlopes), offset(keyOfFirstQuery(p)) {
    if (p.biasSizes[0] > 0) {
      const int32_t *sizes = p.biasSizes;
      queryStride = sizes[2] > 1 ? sizes[3] : 0;
      keyStride = sizes[3] > 1 ? 1 : 0;
      int64_t matrix = static_cast<int64_t>(sizes[2]) * sizes[3];
      bias = p.bias + (sizes[0] > 1 ? batchIndex * sizes[1] * matrix : 0) +
             (sizes[1] > 1 ? head * matrix : 0);
    }
    slope = p.hasSlopes ? p.slopes[head] * kLog2E : 0;
  }

  // Returns what is added to one score; -inf hides the key.
  DTC_DEVICE float at(int query, int key) const {
    float added = -slope * __builtin_fabsf(static_cast<float>(query + offset - key));
    if (!bias)
      return added;
    float loaded = bias[query * queryStride + key * keyStride];
    return loaded <= -1e30f ? -kInfinity : loaded * kLog2E + added;
  }

  const bool isSome;

private:
  const float *bias = nullptr;
  int64_t queryStride = 0, keyStride = 0;
  int offset;
  float slope;
};

// A soft cap of scores in their units before they are scaled: s becomes cap * tanh(s / cap).
struct SoftCap {
  float cap, inverse;
  DTC_DEVICE explicit SoftCap(const AttentionParams &p)
      : cap(p.softCap / p.scale), inverse(p.scale / p.softCap) {}

  // Returns a capped score.
  DTC_DEVICE float apply(float score) const { return cap * hyperbolicTangent(score * inverse); }
  // Returns the derivative of a capped score by the score.
  DTC_DEVICE float slope(float capped) const {
    float part = capped * inverse;
    return 1 - part * part;
  }
};

// Adds a head's sink, if it has one, to the softmax's sum of one row with the largest score
// `largest`, which is in units of log 2 times 1 / `scale`, which is positive. Returns the factor of
// what was summed before.
DTC_DEVICE float addSink(const AttentionParams &p, int head, float scale, float &largest,
                         float &sum) {
  if (!p.hasSinks)
    return 1;
  float sink = p.sinks[head] * kLog2E / scale, now = maximum(largest, sink);
  float subtract = now == -kInfinity ? 0 : now;
  float shrink = exp2Approximate((largest - subtract) * scale);
  sum = sum * shrink + exp2Approximate((sink - subtract) * scale);
  largest = now;
  return shrink;
}

// Returns the index of the first query of a head in lse and delta.
DTC_DEVICE int64_t statisticsRow(const AttentionParams &p, int batchIndex, int head) {
  return (static_cast<int64_t>(batchIndex) * p.heads + head) * p.queries;
}
// Returns the offset of a head of a token, in elements.
DTC_DEVICE int64_t offsetOf(const HeadStrides &strides, int batchIndex, int token, int head) {
  return batchIndex * strides.batch + token * strides.token + head * strides.head;
}

// The dropout factors of the weights of one head: 1 / (1 - p) for kept weights, 0 for dropped ones.
// Source: Salmon, Moraes, Dror, Shaw 2011, Philox4x32-10; word 0 of the counters {low, high of the
// element, dropoutId, step} under the seed.
template <bool kDropout> class Dropout {
public:
  DTC_DEVICE Dropout(const AttentionParams &p, int batchIndex, int head) {
    if constexpr (kDropout) {
      float now = *p.step;
      // Validates the step, which the program computes: only a whole number in range is used.
      step = now >= 0 && now < 4294967296.0f ? static_cast<uint32_t>(now) : 0;
      seed = static_cast<uint64_t>(*p.seed);
      id = p.dropoutId;
      keptFrom = step == 0 ? 0 : p.keptFrom;
      keptScale = step == 0 ? 1 : p.keptScale;
      keys = static_cast<uint64_t>(p.keys);
      firstRow = static_cast<uint64_t>(
          ((p.firstBatch + batchIndex) * p.totalHeads + p.firstHead + head) * p.queries);
    }
  }

  // Returns the factor of one weight.
  DTC_DEVICE float factor(int query, int key) const {
    if constexpr (!kDropout)
      return 1;
    else
      return word((firstRow + static_cast<uint64_t>(query)) * keys + static_cast<uint64_t>(key)) >=
                     keptFrom
                 ? keptScale
                 : 0;
  }

private:
  DTC_DEVICE uint32_t word(uint64_t element) const {
    uint32_t counter0 = static_cast<uint32_t>(element),
             counter1 = static_cast<uint32_t>(element >> 32), counter2 = id, counter3 = step;
    uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
      uint64_t product0 = uint64_t(0xD2511F53u) * counter0;
      uint64_t product1 = uint64_t(0xCD9E8D57u) * counter2;
      counter0 = static_cast<uint32_t>(product1 >> 32) ^ counter1 ^ key0;
      counter1 = static_cast<uint32_t>(product1);
      counter2 = static_cast<uint32_t>(product0 >> 32) ^ counter3 ^ key1;
      counter3 = static_cast<uint32_t>(product0);
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    return counter0;
  }

  uint64_t seed = 0, keptFrom = 0, firstRow = 0, keys = 0;
  uint32_t id = 0, step = 0;
  float keptScale = 1;
};

} // namespace dtc::cuda
