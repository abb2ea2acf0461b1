// Tests which samples, and which elements of them, a rank reads.
#include "tools/dtrun/InputPart.h"

#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

#include <tuple>

namespace dtc::rt {
namespace {

struct Shard {
  uint32_t dim, axis;
  bool zigzag = false;
};
using Runs = std::vector<std::tuple<uint64_t, uint64_t, uint64_t>>; // from, to, length

// Returns the part for samples of this shape on a 2 x 2 x 2 mesh, with `local` of each on a rank.
BatchSpec find(const std::vector<uint64_t> &sample, const std::vector<uint64_t> &local,
               const std::vector<Shard> &shards, const std::vector<uint32_t> &coordinates) {
  test::ProgramBuilder builder({{"a", 2}, {"b", 2}, {"c", 2}});
  std::vector<uint64_t> shape = {3, 5};
  shape.insert(shape.end(), local.begin(), local.end());
  builder.input("x", builder.buffer("x", 1), format::DType::f32, shape);
  format::InputT &input = *builder.program().inputs[0];
  input.sample_shape = sample;
  input.shards.clear();
  for (const Shard &shard : shards) {
    auto &each = *input.shards.emplace_back(std::make_unique<format::ShardedDimT>());
    each.dim = shard.dim;
    each.axis = shard.axis;
    each.zigzag = shard.zigzag;
  }
  builder.manifest.global_batch = 60;
  builder.manifest.micro_batch = 5;
  builder.manifest.num_micro_batches = 3;
  flatbuffers::FlatBufferBuilder encoder;
  format::FinishManifestBuffer(encoder, format::CreateManifest(encoder, &builder.manifest));
  const format::Manifest &manifest = *format::GetManifest(encoder.GetBufferPointer());
  BatchSpec spec;
  Status status =
      findPart(*manifest.programs()->Get(0)->inputs()->Get(0), manifest, coordinates, spec);
  EXPECT_TRUE(status.ok()) << status.message();
  return spec;
}

Runs runsOf(const BatchSpec &spec) {
  Runs runs;
  for (const BatchSpec::Run &run : spec.runs)
    runs.emplace_back(run.from, run.to, run.length);
  return runs;
}

TEST(InputPart, CountsAllAxesThatSplitSamples) {
  // Axis 2 is outside of axis 0: coordinates 1 of 2 and 0 of 2 are part 2 of 4.
  BatchSpec spec = find({4}, {4}, {{1, 2}, {1, 0}}, {0, 1, 1});
  EXPECT_EQ(spec.dataParallelSize, 4u);
  EXPECT_EQ(spec.dataParallelCoordinate, 2u);
  EXPECT_EQ(spec.globalBatch, 60u);
  EXPECT_EQ(spec.microBatch, 5u);
  EXPECT_EQ(spec.numMicroBatches, 3u);
  EXPECT_EQ(spec.elements, 4u);
  EXPECT_EQ(runsOf(spec), (Runs{{0, 0, 4}}));
}

TEST(InputPart, ReadsOneValueOfASampleWithoutDims) {
  BatchSpec spec = find({}, {}, {{1, 0}}, {1, 0, 0});
  EXPECT_EQ(spec.elements, 1u);
  EXPECT_EQ(runsOf(spec), (Runs{{0, 0, 1}}));
}

TEST(InputPart, CutsASampleOverSeveralAxes) {
  // 3 rows of 8 columns are split into quarters, with axis 1 outside of axis 0.
  BatchSpec spec = find({3, 8}, {3, 2}, {{3, 1}, {3, 0}}, {1, 0, 0});
  EXPECT_EQ(spec.elements, 6u);
  EXPECT_EQ(runsOf(spec), (Runs{{2, 0, 2}, {10, 2, 2}, {18, 4, 2}}));
}

TEST(InputPart, ReadsBothPiecesOfAZigzagSample) {
  EXPECT_EQ(runsOf(find({8}, {4}, {{2, 1, true}}, {0, 0, 0})), (Runs{{0, 0, 2}, {6, 2, 2}}));
  EXPECT_EQ(runsOf(find({8}, {4}, {{2, 1, true}}, {0, 1, 0})), (Runs{{2, 0, 2}, {4, 2, 2}}));
}

TEST(InputPart, KnowsWhatAnInputTakes) {
  test::ProgramBuilder builder({{"dp", 1}});
  builder.input("labels", builder.buffer("labels", 1), format::DType::i32, {1, 1, 2, 3}, 10);
  builder.program().inputs[0]->ignored = -7;
  flatbuffers::FlatBufferBuilder encoder;
  format::FinishManifestBuffer(encoder, format::CreateManifest(encoder, &builder.manifest));
  SampleType type = sampleTypeOf(
      *format::GetManifest(encoder.GetBufferPointer())->programs()->Get(0)->inputs()->Get(0));
  EXPECT_EQ(type.input, "labels");
  EXPECT_EQ(type.element, SampleElement::I32);
  EXPECT_EQ(type.shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(type.below, 10u);
  EXPECT_EQ(type.ignored, std::optional<int64_t>(-7));
}

} // namespace
} // namespace dtc::rt
