// The keys that a query of attention sees: [firstKey, endKey), and the queries that see a key.
//
// Functions are static: the files of each instruction set have copies of their own (see Simd.h).
#pragma once

#include "kernels/cpu/Kernels.h"

namespace dtc::cpu {

// Returns the first key that a query sees.
static inline int64_t firstKey(const AttentionArgs &args, int64_t query) {
  int64_t first = query + 1 + args.keys - args.queries - args.window;
  return args.window > 0 && first > 0 ? first : 0;
}

// Returns one past the last key that a query sees.
static inline int64_t endKey(const AttentionArgs &args, int64_t query) {
  int64_t end = query + 1 + args.keys - args.queries;
  if (!args.causal || end > args.keys)
    return args.keys;
  return end > 0 ? end : 0;
}

// Returns the first query that sees a key or a later one.
static inline int64_t firstQuery(const AttentionArgs &args, int64_t key) {
  int64_t first = key + args.queries - args.keys;
  return args.causal && first > 0 ? first : 0;
}

// Returns one past the last query that sees a key or an earlier one.
static inline int64_t endQuery(const AttentionArgs &args, int64_t key) {
  int64_t end = key + args.queries - args.keys + args.window;
  if (args.window == 0 || end > args.queries)
    return args.queries;
  return end > 0 ? end : 0;
}

} // namespace dtc::cpu
