// Makes checkpoints of tensors whose element i is i, without a run.
#pragma once

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Layout.h"
#include "runtime/checkpoint/ShardFileWriter.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace dtc::rt {

// Returns a tensor in f32 that a mesh of one axis splits along `dim`, or that all ranks hold if
// `dim` is -1. `zigzag` means that each rank has two pieces of it.
inline CheckpointSource tensorOf(const std::string &name, std::vector<uint64_t> shape, int dim,
                                 uint32_t ranks, bool zigzag = false) {
  CheckpointSource source;
  source.spec.name = name;
  source.spec.globalShape = source.spec.storedShape = source.spec.localShape = shape;
  if (dim >= 0) {
    auto at = static_cast<size_t>(dim);
    uint64_t pieces = zigzag && ranks > 1 ? 2 : 1, all = ranks * pieces;
    source.spec.shards = {{static_cast<uint32_t>(dim), 0, zigzag}};
    source.spec.localShape[at] = (shape[at] + all - 1) / all * pieces;
  }
  return source;
}

// Returns the part of a rank of a tensor whose element i is i. Padding is -1.
inline std::vector<float> localPart(const TensorSpec &spec, const format::RankMesh &mesh,
                                    uint32_t rank) {
  std::vector<float> local(elementCount(spec.localShape), -1);
  std::vector<ShardBox> boxes;
  EXPECT_TRUE(shardBoxes(spec, mesh.sizes(), mesh.coordinatesOf(rank), boxes).ok());
  forEachRun(spec, boxes, [&](uint64_t global, uint64_t at, uint64_t length) {
    auto from = local.begin() + static_cast<ptrdiff_t>(at);
    std::iota(from, from + static_cast<ptrdiff_t>(length), static_cast<float>(global));
  });
  return local;
}

// Writes step `step` of `sources` to `path`, as the ranks of `mesh` would.
inline void makeCheckpoint(const std::string &path, uint64_t step,
                           const std::vector<CheckpointSource> &sources,
                           const format::RankMesh &mesh) {
  CheckpointLayout layout;
  ASSERT_TRUE(layOut(sources, mesh, layout).ok());
  CheckpointFolder folder;
  ASSERT_TRUE(folder.openForWriting(path).ok());
  ASSERT_TRUE(folder.begin(step).ok());
  CheckpointManifest manifest;
  manifest.run.step = manifest.run.totalSteps = step;
  manifest.mesh = {{"dp", mesh.numRanks()}};
  manifest.tensors = layout.tensors;
  for (size_t i = 0; i < layout.shards.size(); ++i) {
    const CheckpointLayout::Shard &shard = layout.shards[i];
    ShardFileWriter writer;
    std::span<std::byte> file;
    ASSERT_TRUE(writer.stage(shard.bytes, file).ok());
    std::memcpy(file.data(), shard.header.data(), shard.header.size());
    for (const OwnedPiece &piece : shard.pieces) {
      const TensorSpec &spec = sources[piece.source].spec;
      std::vector<float> local = localPart(spec, mesh, static_cast<uint32_t>(shard.rank));
      forEachRun(piece.extent, {spec.localShape, piece.local},
                 {piece.extent, std::vector<uint64_t>(piece.extent.size())},
                 [&](uint64_t from, uint64_t to, uint64_t length) {
                   std::memcpy(file.data() + piece.offset + to * 4, local.data() + from,
                               length * 4);
                 });
    }
    writer.start(CheckpointFolder::writingPath(path, step) + "/" + shardFile(i));
    std::vector<std::string> hashes;
    ASSERT_TRUE(writer.waitFor(60));
    ASSERT_TRUE(writer.finish(hashes).ok());
    manifest.shards.push_back({shard.bytes, hashes});
  }
  ASSERT_TRUE(folder.commit(step, toJson(manifest)).ok());
}

} // namespace dtc::rt
