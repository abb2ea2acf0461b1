#include "runtime/checkpoint/Reader.h"
#include "runtime/checkpoint/Verify.h"

#include "runtime/base/Text.h"

#include "test/unit/checkpoint/CheckpointMaker.h"
#include "test/unit/data/TempFolder.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace dtc::rt {
using format::text;

namespace {

class Reading : public TempFolder {};

// Checks that a rank of `mesh` reads its part of `spec` from `path`.
void expectReads(CheckpointReader &reader, const TensorSpec &spec, const format::RankMesh &mesh,
                 uint32_t rank) {
  const CheckpointTensor *tensor = reader.manifest().find(spec.name);
  ASSERT_NE(tensor, nullptr);
  std::vector<ShardBox> boxes;
  ASSERT_TRUE(shardBoxes(spec, mesh.sizes(), mesh.coordinatesOf(rank), boxes).ok());
  std::vector<float> local(elementCount(spec.localShape), -1);
  Status status =
      reader.read(*tensor, boxes, spec.localShape, std::as_writable_bytes(std::span(local)));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(local, localPart(spec, mesh, rank));
}

TEST_F(Reading, GivesAnyPlanWhatItHolds) {
  for (uint32_t ranks : {1u, 2u, 3u})
    for (int dim : {-1, 0, 1}) {
      std::string all = path(text(ranks, "-", dim));
      makeCheckpoint(all, 4, {tensorOf("w", {7, 5}, dim, ranks), tensorOf("count", {}, -1, ranks)},
                     format::RankMesh({ranks}));
      CheckpointReader reader;
      Status status = reader.open(CheckpointFolder::stepPath(all, 4));
      ASSERT_TRUE(status.ok()) << status.message();
      for (uint32_t wanted : {1u, 2u, 4u, 8u})
        for (int along : {-1, 0, 1})
          for (uint32_t rank = 0; rank < wanted; ++rank)
            expectReads(reader, tensorOf("w", {7, 5}, along, wanted).spec,
                        format::RankMesh({wanted}), rank);
      expectReads(reader, tensorOf("count", {}, -1, 1).spec, format::RankMesh({1}), 0);
    }
}

TEST_F(Reading, GivesRanksBothOfTheirPieces) {
  for (bool from : {false, true})
    for (bool to : {false, true}) {
      std::string all = path(text(from, "-", to));
      makeCheckpoint(all, 4, {tensorOf("w", {3, 11}, 1, 2, from)}, format::RankMesh({2}));
      CheckpointReader reader;
      ASSERT_TRUE(reader.open(CheckpointFolder::stepPath(all, 4)).ok());
      for (uint32_t rank = 0; rank < 3; ++rank)
        expectReads(reader, tensorOf("w", {3, 11}, 1, 3, to).spec, format::RankMesh({3}), rank);
    }
}

TEST_F(Reading, ReadsTheBlocksThatItNeeds) {
  constexpr uint64_t rows = 8, columns = kCheckpointBlock / 4;
  makeCheckpoint(folder, 1, {tensorOf("w", {rows, columns}, 0, 2)}, format::RankMesh({2}));
  CheckpointReader reader;
  ASSERT_TRUE(reader.open(CheckpointFolder::stepPath(folder, 1)).ok());
  EXPECT_EQ(reader.bytesRead(), 0u);
  // One row of eight has the length of a block, and is in two blocks.
  expectReads(reader, tensorOf("w", {rows, columns}, 0, 8).spec, format::RankMesh({8}), 1);
  EXPECT_LE(reader.bytesRead(), 2 * kCheckpointBlock);
}

// Flips and cuts all files of a small checkpoint at each byte.
TEST_F(Reading, RefusesWhatIsDamagedAtAnyByte) {
  makeCheckpoint(folder, 1, {tensorOf("w", {3, 3}, 0, 2)}, format::RankMesh({2}));
  std::string step = CheckpointFolder::stepPath(folder, 1);
  CheckpointReader reader;
  std::vector<std::string> problems;
  verifyCheckpoint(step, reader, problems);
  EXPECT_TRUE(problems.empty()) << problems.front();
  for (const std::string &name :
       {std::string("COMPLETE"), std::string("manifest.json"), shardFile(0), shardFile(1)}) {
    std::string file = "step-1/" + name, good = readFile(file);
    ASSERT_FALSE(good.empty());
    for (size_t at = 0; at < good.size(); ++at) {
      std::string flipped = good;
      flipped[at] = static_cast<char>(flipped[at] ^ 4);
      for (const std::string &bad : {flipped, good.substr(0, at)}) {
        writeFile(file, bad);
        verifyCheckpoint(step, reader, problems);
        ASSERT_FALSE(problems.empty()) << name << " at byte " << at << " of " << bad.size();
        EXPECT_NE(problems.front().find(name), std::string::npos) << problems.front();
      }
    }
    writeFile(file, good + "x");
    verifyCheckpoint(step, reader, problems);
    EXPECT_FALSE(problems.empty()) << name << " has a byte more";
    writeFile(file, good);
  }
  std::string shard = "step-1/" + shardFile(1), good = readFile(shard);
  std::remove(path(shard).c_str());
  EXPECT_NE(reader.open(step).message().find("shard-00001.safetensors"), std::string::npos);
  writeFile(shard, good);
  EXPECT_TRUE(reader.open(step).ok());
  std::remove(path("step-1/COMPLETE").c_str());
  EXPECT_NE(reader.open(step).message().find("was not written to its end"), std::string::npos);
}

// A reader of a part of a shard finds damage in that part.
TEST_F(Reading, ChecksWhatItReads) {
  makeCheckpoint(folder, 1, {tensorOf("w", {3, 3}, -1, 1)}, format::RankMesh({1}));
  std::string step = "step-1/" + shardFile(0), bytes = readFile(step);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  writeFile(step, bytes);
  CheckpointReader reader;
  ASSERT_TRUE(reader.open(CheckpointFolder::stepPath(folder, 1)).ok());
  TensorSpec spec = tensorOf("w", {3, 3}, -1, 1).spec;
  std::vector<float> local(9);
  std::vector<ShardBox> boxes = {{{0, 0}, {0, 0}, {3, 3}}};
  Status status = reader.read(*reader.manifest().find("w"), boxes, spec.localShape,
                              std::as_writable_bytes(std::span(local)));
  EXPECT_EQ(status.statusCode(), StatusCode::DataLoss);
  EXPECT_NE(status.message().find("shard-00000.safetensors': bytes 0 to"), std::string::npos)
      << status.message();
}

} // namespace
} // namespace dtc::rt
