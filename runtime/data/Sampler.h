// The order of samples: a pure function of the seed and the global sample index, so that it does
// not depend on the plan and any step can be reached at once.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/data/TokenSource.h"

#include <cstdint>

namespace dtc::rt {

// A permutation of [0, size) that needs no memory: a Feistel network over the next power of four,
// walked until it falls below `size` (Black and Rogaway 2002, "Ciphers with arbitrary finite
// domains"). `size` >= 1.
uint64_t permute(uint64_t index, uint64_t size, uint64_t key0, uint64_t key1);

// Samples are windows of T + 1 tokens at stride T: n = (tokens - 1) / T of them. Sample g is window
// permute(g % n) of epoch g / n, each epoch in an order of its own.
class Sampler {
public:
  // InvalidArgument when the source is too short for one window: names it, tokens found and needed.
  static Status create(const TokenSource &source, uint64_t sequenceLength, uint64_t seed,
                       Sampler &sampler);

  uint64_t windows() const { return count; }
  uint64_t sequenceLength() const { return stride; }
  // The position of the first token of sample `g`.
  uint64_t start(uint64_t g) const;

private:
  uint64_t count = 1, stride = 1, key = 0;
};

// The part of a step's global batch that one rank reads.
struct BatchSpec {
  uint64_t globalBatch = 1;     // microBatch * numMicroBatches * dataParallelSize
  uint64_t microBatch = 1;      // samples per micro-batch on this rank
  uint64_t numMicroBatches = 1; //
  uint64_t dataParallelSize = 1, dataParallelCoordinate = 0;
  uint64_t sequenceLength = 1;                 // T, of the whole sample
  uint64_t sequenceBegin = 0, sequenceEnd = 0; // the slice of T of this rank; end 0 is T
};

// Fills `tokens` and `targets`, each [numMicroBatches, microBatch, slice of T], for `step` (from
// 1): row (m, i) is global sample (step - 1) * globalBatch + m * microBatch * dataParallelSize +
// dataParallelCoordinate * microBatch + i, targets one token further than tokens. Either may be
// empty: then it is skipped. InvalidArgument when sizes do not agree; and TokenSource's errors.
Status fillBatch(const TokenSource &source, const Sampler &sampler, uint64_t step,
                 const BatchSpec &spec, std::span<int32_t> tokens, std::span<int32_t> targets);

} // namespace dtc::rt
