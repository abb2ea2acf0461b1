// Sample order by a permutation, and batches of it.
#include "runtime/data/Sampler.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>

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

// Returns the number of slots in a block for which all weights are whole numbers of slots, a
// million at most.
static uint64_t blockOf(std::span<const Sampler::Share> shares) {
  constexpr uint64_t most = 1'000'000;
  uint64_t block = 10;
  auto isWhole = [&](const Sampler::Share &share) {
    double slots = share.weight * static_cast<double>(block);
    return std::abs(slots - std::round(slots)) < 1e-9 * static_cast<double>(block);
  };
  while (block < most && !std::all_of(shares.begin(), shares.end(), isWhole))
    block *= 10;
  return block;
}

// Returns the slots of each source in a block: its weight rounded down, and one more for those
// that this takes most of, so that all slots are given away. Each source has one at least.
static std::vector<uint64_t> slotsOf(std::span<const Sampler::Share> shares, uint64_t block) {
  std::vector<uint64_t> slots;
  std::vector<std::pair<double, size_t>> lost;
  uint64_t given = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    double wanted = shares[i].weight * static_cast<double>(block);
    // A weight of 0.7 may be 6.999... slots.
    auto whole = static_cast<uint64_t>(wanted + 1e-9 * static_cast<double>(block));
    slots.push_back(std::max<uint64_t>(whole, 1));
    given += slots.back();
    lost.push_back({static_cast<double>(slots.back()) - wanted, i});
  }
  std::sort(lost.begin(), lost.end());
  for (size_t i = 0; given < block; i = (i + 1) % lost.size(), ++given)
    ++slots[lost[i].second];
  while (given > block) {
    --*std::max_element(slots.begin(), slots.end());
    --given;
  }
  return slots;
}

Sampler Sampler::mixed(std::span<const Share> shares, uint64_t seed) {
  Sampler sampler(0, seed);
  sampler.block = blockOf(shares);
  std::vector<uint64_t> slots = slotsOf(shares, sampler.block);
  uint64_t slot = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    sampler.parts.push_back(
        {slot, slots[i], sampler.count, shares[i].samples, mix(seed + mix(i + 1))});
    slot += slots[i];
    sampler.count += shares[i].samples;
  }
  return sampler;
}

uint64_t Sampler::mixedSample(uint64_t g) const {
  uint64_t number = g / block, slot = permute(g % block, block, mix(key), number);
  auto part = std::find_if(parts.begin(), parts.end(),
                           [&](const Part &each) { return slot < each.firstSlot + each.slots; });
  uint64_t drawn = number * part->slots + (slot - part->firstSlot);
  return part->firstSample +
         permute(drawn % part->samples, part->samples, part->key, drawn / part->samples);
}

double Sampler::drawnOf(size_t index, uint64_t total) const {
  return static_cast<double>(total) * static_cast<double>(parts[index].slots) /
         static_cast<double>(block);
}

uint64_t Sampler::sample(uint64_t g) const {
  if (!parts.empty())
    return mixedSample(g);
  if (shuffled)
    return permute(g % count, count, mix(key), g / count);
  return g < count ? g : 0;
}

static Status checkBatch(const BatchSpec &spec, uint64_t step, size_t bytes) {
  uint64_t samples = spec.microBatch * spec.numMicroBatches;
  if (samples == 0 || samples * spec.dataParallelSize != spec.globalBatch)
    return Status::invalidArgument(text("reading a batch: micro-batch ", spec.microBatch, " x ",
                                        spec.numMicroBatches, " x ", spec.dataParallelSize,
                                        " ranks is not the global batch ", spec.globalBatch));
  if (spec.dataParallelCoordinate >= spec.dataParallelSize)
    return Status::invalidArgument(text("reading a batch: coordinate ", spec.dataParallelCoordinate,
                                        " of ", spec.dataParallelSize, " ranks"));
  if (step == 0)
    return Status::invalidArgument("reading a batch: step 0; steps count from 1");
  for (const BatchSpec::Run &run : spec.runs)
    if (run.to > spec.elements || run.length > spec.elements - run.to)
      return Status::invalidArgument(text("reading a batch: ", run.length, " elements at ", run.to,
                                          " of a part of ", spec.elements));
  uint64_t wanted = samples * spec.elements * kSampleElementBytes;
  if (bytes != wanted)
    return Status::invalidArgument(
        text("reading a batch: the buffer holds ", bytes, " bytes; wanted ", wanted));
  return Status::okStatus();
}

Status fillBatch(const SampleSource &source, const Sampler &sampler, uint64_t step,
                 const BatchSpec &spec, std::span<std::byte> out) {
  DTC_RETURN_IF_ERROR(checkBatch(spec, step, out.size()));
  for (uint64_t m = 0; m < spec.numMicroBatches; ++m)
    for (uint64_t i = 0; i < spec.microBatch; ++i) {
      uint64_t global = (step - 1) * spec.globalBatch +
                        m * spec.microBatch * spec.dataParallelSize +
                        spec.dataParallelCoordinate * spec.microBatch + i;
      uint64_t row = (m * spec.microBatch + i) * spec.elements;
      for (const BatchSpec::Run &run : spec.runs)
        DTC_RETURN_IF_ERROR(source.read(
            sampler.sample(global), run.from,
            out.subspan((row + run.to) * kSampleElementBytes, run.length * kSampleElementBytes)));
    }
  return Status::okStatus();
}

} // namespace dtc::rt
