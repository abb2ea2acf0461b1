#include "tools/dtrun/Batches.h"

#include "runtime/format/Operands.h"

#include <algorithm>

namespace dtc::rt {
namespace {

// Of the mesh axes that shard `dim` of an input together: how many parts, and which is this rank's.
void findPart(const format::Input &input, uint32_t dim, const format::Manifest &manifest,
              const std::vector<uint32_t> &coordinates, uint64_t &size, uint64_t &coordinate) {
  for (uint32_t i = 0; i < format::sizeOf(input.shards()); ++i) {
    const format::ShardedDim &shard = *input.shards()->Get(i);
    if (shard.dim() != dim)
      continue;
    uint64_t ranks = manifest.mesh()->Get(shard.axis())->size();
    size *= ranks;
    coordinate = coordinate * ranks + coordinates[shard.axis()];
  }
}

} // namespace

Status Batches::open(const std::string &path, uint64_t seed, const Executable &executable,
                     const Executor &executor) {
  const format::Manifest &manifest = executable.manifest();
  const format::Input *tokenInput = executor.findInput(format::InputRole::tokens);
  const format::Input *targetInput = executor.findInput(format::InputRole::targets);
  wantsTokens = tokenInput != nullptr;
  wantsTargets = targetInput != nullptr;
  const format::Input *input = wantsTokens ? tokenInput : targetInput;
  if (!input)
    return {};

  random = path == "synthetic";
  DTC_RETURN_IF_ERROR(
      openTokens(path, {.vocabulary = manifest.vocabulary(), .seed = seed}, source));
  DTC_RETURN_IF_ERROR(Sampler::create(*source, manifest.sequence_length(), seed, sampler));
  spec.globalBatch = manifest.global_batch();
  spec.microBatch = manifest.micro_batch();
  spec.numMicroBatches = manifest.num_micro_batches();
  spec.sequenceLength = manifest.sequence_length();
  findPart(*input, 1, manifest, executor.coordinates(), spec.dataParallelSize,
           spec.dataParallelCoordinate);
  uint64_t slices = 1, slice = 0;
  findPart(*input, 2, manifest, executor.coordinates(), slices, slice);
  uint64_t sliceLength = spec.sequenceLength / slices; // divides: the verifier has checked
  spec.sequenceBegin = slice * sliceLength;
  spec.sequenceEnd = spec.sequenceBegin + sliceLength;
  uint64_t count = spec.numMicroBatches * spec.microBatch * sliceLength;
  tokens.resize(wantsTokens ? count : 0);
  targets.resize(wantsTargets ? count : 0);
  return {};
}

Status Batches::checkAll(int rank, int ranks) const {
  std::vector<int32_t> block(1 << 20);
  auto part = static_cast<uint64_t>(rank), parts = static_cast<uint64_t>(ranks);
  uint64_t share = source->size() / parts + 1;
  uint64_t begin = std::min(source->size(), part * share);
  uint64_t end = std::min(source->size(), begin + share);
  while (begin < end) {
    uint64_t count = std::min<uint64_t>(end - begin, block.size());
    DTC_RETURN_IF_ERROR(source->read(begin, std::span(block).first(count)));
    begin += count;
  }
  return {};
}

Status Batches::check(uint64_t steps, int rank, int ranks) const {
  if (!source || random)
    return {};
  // Past one epoch every token is read.
  if (steps > sampler.windows() / spec.globalBatch)
    return checkAll(rank, ranks);
  std::vector<int32_t> window(spec.sequenceLength + 1);
  for (auto sample = static_cast<uint64_t>(rank); sample < steps * spec.globalBatch;
       sample += static_cast<uint64_t>(ranks))
    DTC_RETURN_IF_ERROR(source->read(sampler.start(sample), window));
  return {};
}

Status Batches::load(uint64_t step, Executor &executor) {
  if (!source)
    return {};
  DTC_RETURN_IF_ERROR(fillBatch(*source, sampler, step, spec, tokens, targets));
  if (wantsTokens)
    DTC_RETURN_IF_ERROR(executor.writeInput(format::InputRole::tokens, tokens));
  if (wantsTargets)
    DTC_RETURN_IF_ERROR(executor.writeInput(format::InputRole::targets, targets));
  return {};
}

} // namespace dtc::rt
