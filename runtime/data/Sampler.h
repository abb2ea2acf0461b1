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

  // A source of a mixture: its samples, and its share of those that are drawn.
  struct Share {
    uint64_t samples = 1;
    double weight = 1; // above 0; the weights of all sources add up to 1
  };
  // Makes the order of several sources, whose samples are numbered one source after the other. Of
  // each block of B global samples a source has B times its weight, at slots that the seed
  // shuffles; its own samples come in the order of a Sampler of their own. B is the smallest power
  // of ten that makes all of these whole, a million at most, where rounding gives what is left to
  // the sources that lose most. So what is drawn until any global sample is known at once.
  static Sampler mixed(std::span<const Share> shares, uint64_t seed);

  // Returns the number of different samples.
  uint64_t samples() const { return count; }
  // Returns the index in the source of global sample `g`.
  uint64_t sample(uint64_t g) const;
  // Returns how many of the first `total` global samples source `index` of a mixture gives, to
  // within a block.
  double drawnOf(size_t index, uint64_t total) const;

private:
  // A source of a mixture: the slots in a block that are its own, and its first sample's number.
  struct Part {
    uint64_t firstSlot, slots, firstSample, samples, key;
  };
  uint64_t mixedSample(uint64_t g) const;

  uint64_t count = 1, key = 0;
  bool shuffled = true;
  std::vector<Part> parts; // empty unless mixed
  uint64_t block = 1;      // global samples of a block
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
