// The keys that a query of attention sees: [firstKey, endKey), and the queries that see a key.
// The ranges of a sample with a length follow from the arguments that ofSample returns.
//
// Functions are static: the files of each instruction set have copies of their own (see Simd.h).
#pragma once

#include "kernels/cpu/AttentionArgs.h"

namespace dtc::cpu {

// Returns the arguments with the number of keys and the documents that sample `batchIndex` has.
static inline AttentionArgs ofSample(const AttentionArgs &args, int64_t batchIndex) {
  AttentionArgs sample = args;
  if (args.documentBegin) {
    sample.documentBegin += batchIndex * args.keys;
    sample.documentEnd += batchIndex * args.keys;
  }
  if (args.lengths)
    sample.sampleKeys = args.lengths[batchIndex];
  return sample;
}

// Returns the position of the first query, or of the first key, that starts have.
static inline int64_t startOf(const AttentionArgs &args, int which) {
  int64_t start = args.starts[which];
  start = start > 0 ? start : 0;
  return start < AttentionArgs::kMostPosition ? start : AttentionArgs::kMostPosition;
}

// Returns the index of the key at the position of query 0, which may be none of the keys.
static inline int64_t keyOfFirstQuery(const AttentionArgs &args) {
  return args.starts ? startOf(args, 0) - startOf(args, 1) : args.keys - args.queries;
}

// Returns the number of first keys that all queries see.
static inline int64_t prefixKeys(const AttentionArgs &args) {
  return args.starts ? args.prefix - startOf(args, 1) : args.prefix;
}

// Returns the head dim of values and results.
static inline int64_t valueDim(const AttentionArgs &args) {
  return args.valueDim > 0 ? args.valueDim : args.headDim;
}

// Returns the first key that a query sees; the number of keys where all are before its window.
static inline int64_t firstKey(const AttentionArgs &args, int64_t query) {
  int64_t end = query + 1 + keyOfFirstQuery(args), first = end - args.window;
  first = args.window > 0 && first > 0 ? first : 0;
  first = first < args.keys ? first : args.keys;
  if (args.documentBegin && first < args.documentBegin[end - 1])
    first = args.documentBegin[end - 1];
  return first;
}

// Returns one past the last key that a query sees.
static inline int64_t endKey(const AttentionArgs &args, int64_t query) {
  int64_t end = query + 1 + keyOfFirstQuery(args);
  int64_t documentEnd = args.documentEnd ? args.documentEnd[end - 1] : args.keys;
  if (!args.causal && args.window > 0)
    end += args.window - 1;
  if (end < prefixKeys(args))
    end = prefixKeys(args);
  if ((!args.causal && args.window == 0) || end > args.keys)
    end = args.keys;
  if (end > documentEnd)
    end = documentEnd;
  if (end > args.sampleKeys)
    end = args.sampleKeys;
  return end > 0 ? end : 0;
}

// Returns the first query that sees a key or a later one.
static inline int64_t firstQuery(const AttentionArgs &args, int64_t key) {
  int64_t first = key - keyOfFirstQuery(args);
  if (!args.causal)
    first = args.window > 0 ? first + 1 - args.window : 0;
  if (args.documentBegin) {
    int64_t begin = args.documentBegin[key] - keyOfFirstQuery(args);
    first = first > begin ? first : begin;
  }
  return first > 0 && key >= prefixKeys(args) ? first : 0;
}

// Returns one past the last query that sees a key or an earlier one.
static inline int64_t endQuery(const AttentionArgs &args, int64_t key) {
  int64_t end = key - keyOfFirstQuery(args) + args.window;
  if (args.window == 0 || end > args.queries)
    end = args.queries;
  if (args.documentEnd) {
    int64_t documentEnd = args.documentEnd[key] - keyOfFirstQuery(args);
    end = end < documentEnd ? end : documentEnd;
  }
  return end > 0 ? end : 0;
}

// The elements from one sample, head, query and key to the next in bias; 0 for dims of size 1.
struct BiasStrides {
  int64_t batch, head, query, key;
};

// Returns the strides of bias.
static inline BiasStrides biasStrides(const AttentionArgs &args) {
  const int64_t *sizes = args.biasSizes;
  return {sizes[0] > 1 ? sizes[1] * sizes[2] * sizes[3] : 0, sizes[1] > 1 ? sizes[2] * sizes[3] : 0,
          sizes[2] > 1 ? sizes[3] : 0, sizes[3] > 1 ? 1 : 0};
}

} // namespace dtc::cpu
