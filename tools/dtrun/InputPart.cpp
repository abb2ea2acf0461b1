#include "tools/dtrun/InputPart.h"

#include "runtime/base/TensorSpec.h"
#include "runtime/exec/Binding.h"
#include "runtime/format/Operands.h"

namespace dtc::rt {

SampleType sampleTypeOf(const format::Input &input) {
  SampleType type;
  type.input = input.name()->str();
  type.element = input.dtype() == format::DType::f32 ? SampleElement::F32 : SampleElement::I32;
  for (uint32_t dim = 0; dim < format::sizeOf(input.sample_shape()); ++dim)
    type.shape.push_back(input.sample_shape()->Get(dim));
  type.below = input.below();
  if (input.ignored())
    type.ignored = *input.ignored();
  return type;
}

// Describes a sample as a tensor of which the rank has a shard.
static TensorSpec sampleSpec(const format::Input &input) {
  TensorSpec sample;
  sample.name = input.name()->str();
  sample.globalShape = sample.storedShape = sampleTypeOf(input).shape;
  sample.localShape.assign(input.shape()->begin() + 2, input.shape()->end());
  for (uint32_t i = 0; i < format::sizeOf(input.shards()); ++i)
    if (const format::ShardedDim &shard = *input.shards()->Get(i); shard.dim() >= 2)
      sample.shards.push_back({shard.dim() - 2, shard.axis(), shard.zigzag()});
  return sample;
}

Status findPart(const format::Input &input, const format::Manifest &manifest,
                const std::vector<uint32_t> &coordinates, BatchSpec &spec) {
  std::vector<uint32_t> mesh = meshSizes(manifest);
  spec.globalBatch = manifest.global_batch();
  spec.microBatch = manifest.micro_batch();
  spec.numMicroBatches = manifest.num_micro_batches();
  // Axes that split the samples together are listed outermost first.
  for (uint32_t i = 0; i < format::sizeOf(input.shards()); ++i)
    if (const format::ShardedDim &shard = *input.shards()->Get(i); shard.dim() == 1) {
      uint64_t ranks = mesh[shard.axis()];
      spec.dataParallelSize *= ranks;
      spec.dataParallelCoordinate = spec.dataParallelCoordinate * ranks + coordinates[shard.axis()];
    }
  TensorSpec sample = sampleSpec(input);
  std::vector<ShardBox> boxes;
  DTC_RETURN_IF_ERROR(shardBoxes(sample, mesh, coordinates, boxes));
  spec.elements = elementCount(sample.localShape);
  forEachRun(sample, boxes, [&](uint64_t from, uint64_t to, uint64_t length) {
    spec.runs.push_back({from, to, length});
  });
  return {};
}

} // namespace dtc::rt
