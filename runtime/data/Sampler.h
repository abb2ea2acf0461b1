// The order of samples: a pure function of the seed and the global sample index, so that it does
// not depend on the plan and any step can be reached at once.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/data/SampleSource.h"

#include <cstdint>

namespace dtc::rt {

// Returns the image of `index` under a permutation of [0, size) that needs no memory: a Feistel
// network over the next power of four, walked until it falls below `size` (Black and Rogaway 2002,
// "Ciphers with arbitrary finite domains"). `size` >= 1.
uint64_t permute(uint64_t index, uint64_t size, uint64_t key0, uint64_t key1);

// The order of n samples: global sample g is sample permute(g % n) of epoch g / n, each epoch in an
// order of its own. All inputs of a model share one sampler.
class Sampler {
public:
  Sampler() = default;
  // Makes the order of `samples` >= 1 samples.
  Sampler(uint64_t samples, uint64_t seed) : count(samples), key(seed) {}
  // Returns the source's own order once, then its first sample for ever.
  static Sampler inOrder(uint64_t samples) {
    Sampler sampler(samples, 0);
    sampler.shuffled = false;
    return sampler;
  }

  uint64_t samples() const { return count; }
  // Returns the index in the source of global sample `g`.
  uint64_t sample(uint64_t g) const;

private:
  uint64_t count = 1, key = 0;
  bool shuffled = true;
};

// The part of a step's global batch that one rank reads of one input.
struct BatchSpec {
  uint64_t globalBatch = 1;     // microBatch * numMicroBatches * dataParallelSize
  uint64_t microBatch = 1;      // samples per micro-batch on this rank
  uint64_t numMicroBatches = 1; // micro-batches of a step
  uint64_t dataParallelSize = 1, dataParallelCoordinate = 0;
  // A run of elements of each sample: `length` elements from element `from` of the sample go to
  // element `to` of the rank's part, which has `elements`.
  struct Run {
    uint64_t from, to, length;
  };
  std::vector<Run> runs;
  uint64_t elements = 0;
};

// Fills `out`, [numMicroBatches, microBatch, part of a sample], for `step` (from 1): row (m, i) is
// global sample (step - 1) * globalBatch + m * microBatch * dataParallelSize +
// dataParallelCoordinate * microBatch + i. InvalidArgument if sizes do not agree; and
// SampleSource's errors.
Status fillBatch(const SampleSource &source, const Sampler &sampler, uint64_t step,
                 const BatchSpec &spec, std::span<std::byte> out);

} // namespace dtc::rt
