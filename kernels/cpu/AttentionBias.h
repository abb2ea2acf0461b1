// Splits the gradient of attention's bias over the pool. It is summed over samples, heads, queries
// and keys as far as bias is the same for them, always in one order: a task has all terms of the
// elements that it writes.
#pragma once

#include "kernels/cpu/AttentionMask.h"
#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/ThreadPool.h"

#include <algorithm>

namespace dtc::cpu {

// A part of dbias: rows and columns that all samples and heads of it add to.
struct BiasPart {
  int64_t firstSample, endSample, firstHead, endHead;
  int64_t queryBegin, queryEnd, keyBegin, keyEnd;
};

// The parts of dbias: pieces of kAttentionGrain queries, or keys where queries share their bias.
class BiasParts {
public:
  explicit BiasParts(const AttentionArgs &args)
      : args(args), cutsQueries(args.biasSizes[2] > 1),
        cutsKeys(!cutsQueries && args.biasSizes[3] > 1) {
    int64_t length = cutsQueries ? args.queries : args.keys;
    pieces = cutsQueries || cutsKeys ? (length + kAttentionGrain - 1) / kAttentionGrain : 1;
  }

  // Returns the number of parts.
  int64_t count() const { return args.biasSizes[0] * args.biasSizes[1] * pieces; }

  // Returns one part.
  BiasPart at(int64_t index) const {
    int64_t piece = index % pieces, head = index / pieces % args.biasSizes[1],
            sample = index / pieces / args.biasSizes[1];
    bool perSample = args.biasSizes[0] > 1, perHead = args.biasSizes[1] > 1;
    BiasPart part{perSample ? sample : 0,
                  perSample ? sample + 1 : args.batch,
                  perHead ? head : 0,
                  perHead ? head + 1 : args.heads,
                  0,
                  args.queries,
                  0,
                  args.keys};
    int64_t begin = piece * kAttentionGrain;
    if (cutsQueries)
      part.queryBegin = begin, part.queryEnd = std::min(args.queries, begin + kAttentionGrain);
    if (cutsKeys)
      part.keyBegin = begin, part.keyEnd = std::min(args.keys, begin + kAttentionGrain);
    return part;
  }

  // Sets the elements of a part to 0.
  void clear(const BiasPart &part, float *dbias) const {
    BiasStrides strides = biasStrides(args);
    float *head = dbias + part.firstSample * strides.batch + part.firstHead * strides.head;
    for (int64_t i = part.queryBegin; i < (strides.query > 0 ? part.queryEnd : 1); ++i)
      for (int64_t j = part.keyBegin; j < (strides.key > 0 ? part.keyEnd : 1); ++j)
        head[i * strides.query + j * strides.key] = 0;
  }

private:
  const AttentionArgs &args;
  bool cutsQueries, cutsKeys;
  int64_t pieces;
};

// Sets dbias: calls addHead(range, head) for every query head of every sample of a part.
template <typename AddHead>
void biasGradient(const AttentionArgs &args, float *dbias, ThreadPool &pool,
                  const AddHead &addHead) {
  BiasParts parts(args);
  int64_t group = args.heads / std::max<int64_t>(1, args.kvHeads);
  pool.parallelFor(parts.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      BiasPart part = parts.at(index);
      parts.clear(part, dbias);
      for (int64_t sample = part.firstSample; sample < part.endSample; ++sample)
        for (int64_t head = part.firstHead; head < part.endHead; ++head)
          addHead(AttentionGradRange{sample, head / group, part.queryBegin, part.queryEnd,
                                     part.keyBegin, part.keyEnd, false, false, true},
                  head);
    }
  });
}

} // namespace dtc::cpu
