// Sample order by a permutation, and batches of it.
#include "runtime/data/Sampler.h"

#include "runtime/base/Text.h"

#include <vector>

namespace dtc::rt {
using format::text;

// The finaliser of MurmurHash3: every bit of the result depends on every bit of `x`.
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return x ^ (x >> 33);
}

uint64_t permute(uint64_t index, uint64_t size, uint64_t key0, uint64_t key1) {
  // Two halves of `bits` bits cover [0, size), and less than four times as many.
  int bits = 0;
  while (bits < 32 && ((size - 1) >> (2 * bits)) != 0)
    ++bits;
  const uint64_t mask = (uint64_t(1) << bits) - 1;
  constexpr int rounds = 6;
  do {
    uint64_t left = index >> bits, right = index & mask;
    for (uint64_t round = 0; round < rounds; ++round) {
      uint64_t drawn = mix(mix(right ^ key0) + key1 + (round << 56));
      uint64_t next = left ^ (drawn & mask);
      left = right;
      right = next;
    }
    index = left << bits | right;
  } while (index >= size);
  return index;
}

Status Sampler::create(const TokenSource &source, uint64_t sequenceLength, uint64_t seed,
                       Sampler &sampler) {
  uint64_t tokens = source.size();
  if (sequenceLength == 0)
    return Status::invalidArgument(
        text("sampling '", source.name(), "': the sequence length is 0; wanted 1 or more"));
  if (tokens == 0 || (tokens - 1) / sequenceLength == 0)
    return Status::invalidArgument(text("sampling '", source.name(), "': it has ", tokens,
                                        " tokens; one sample of length ", sequenceLength, " needs ",
                                        sequenceLength + 1));
  sampler.count = (tokens - 1) / sequenceLength;
  sampler.stride = sequenceLength;
  sampler.key = seed;
  return Status::okStatus();
}

uint64_t Sampler::start(uint64_t g) const {
  return permute(g % count, count, mix(key), g / count) * stride;
}

static Status checkBatch(const BatchSpec &spec, const Sampler &sampler, uint64_t step, uint64_t end,
                         size_t tokens, size_t targets) {
  uint64_t samples = spec.microBatch * spec.numMicroBatches;
  if (samples == 0 || samples * spec.dataParallelSize != spec.globalBatch)
    return Status::invalidArgument(text("reading a batch: micro-batch ", spec.microBatch, " x ",
                                        spec.numMicroBatches, " x ", spec.dataParallelSize,
                                        " ranks is not the global batch ", spec.globalBatch));
  if (spec.dataParallelCoordinate >= spec.dataParallelSize)
    return Status::invalidArgument(text("reading a batch: coordinate ", spec.dataParallelCoordinate,
                                        " of ", spec.dataParallelSize, " ranks"));
  if (spec.sequenceBegin >= end || end > spec.sequenceLength)
    return Status::invalidArgument(text("reading a batch: tokens ", spec.sequenceBegin, " to ", end,
                                        " of samples of length ", spec.sequenceLength));
  if (spec.sequenceLength != sampler.sequenceLength())
    return Status::invalidArgument(text("reading a batch: samples of length ", spec.sequenceLength,
                                        " from a sampler of length ", sampler.sequenceLength()));
  if (step == 0)
    return Status::invalidArgument("reading a batch: step 0; steps count from 1");
  uint64_t wanted = samples * (end - spec.sequenceBegin);
  for (size_t size : {tokens, targets})
    if (size != 0 && size != wanted)
      return Status::invalidArgument(
          text("reading a batch: the buffer holds ", size, " tokens; wanted ", wanted));
  return Status::okStatus();
}

Status fillBatch(const TokenSource &source, const Sampler &sampler, uint64_t step,
                 const BatchSpec &spec, std::span<int32_t> tokens, std::span<int32_t> targets) {
  uint64_t end = spec.sequenceEnd ? spec.sequenceEnd : spec.sequenceLength;
  DTC_RETURN_IF_ERROR(checkBatch(spec, sampler, step, end, tokens.size(), targets.size()));
  uint64_t length = end - spec.sequenceBegin;
  std::vector<int32_t> window(length + 1);
  for (uint64_t m = 0; m < spec.numMicroBatches; ++m)
    for (uint64_t i = 0; i < spec.microBatch; ++i) {
      uint64_t sample = (step - 1) * spec.globalBatch +
                        m * spec.microBatch * spec.dataParallelSize +
                        spec.dataParallelCoordinate * spec.microBatch + i;
      DTC_RETURN_IF_ERROR(source.read(sampler.start(sample) + spec.sequenceBegin, window));
      uint64_t row = (m * spec.microBatch + i) * length;
      if (!tokens.empty())
        std::copy(window.begin(), window.end() - 1, tokens.begin() + static_cast<ptrdiff_t>(row));
      if (!targets.empty())
        std::copy(window.begin() + 1, window.end(), targets.begin() + static_cast<ptrdiff_t>(row));
    }
  return Status::okStatus();
}

} // namespace dtc::rt
