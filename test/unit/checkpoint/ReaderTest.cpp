#include "runtime/checkpoint/Reader.h"
#include "runtime/checkpoint/Verify.h"

#include "runtime/base/Text.h"
#include "runtime/checkpoint/SignedDigests.h"
#include "runtime/trust/Digest.h"
#include "runtime/trust/Signature.h"

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

// Returns the digests of the checkpoint at `folder`, which is good.
SignedDigests digestsOf(const std::string &folder) {
  CheckpointReader reader;
  EXPECT_TRUE(reader.open(folder).ok());
  SignedDigests digests{reader.manifestDigest(), {}};
  std::vector<uint8_t> bytes;
  for (size_t shard = 0; shard < reader.manifest().shards.size(); ++shard) {
    digests.shards.emplace_back();
    for (size_t block = 0; block < reader.manifest().shards[shard].hashes.size(); ++block) {
      EXPECT_TRUE(reader.readBlock(shard, block, bytes).ok());
      digests.shards.back().push_back(digestOf(std::as_bytes(std::span(bytes))));
    }
  }
  return digests;
}

TEST_F(Reading, WithKeysWantsWhatTheySigned) {
  SecretKey key;
  ASSERT_TRUE(makeKey(key).ok());
  writeFile("keys", textOf(key.publicKey()));
  TrustedKeys trusted;
  ASSERT_TRUE(trusted.load(path("keys")).ok());
  makeCheckpoint(path("c"), 4, {tensorOf("w", {7, 5}, 0, 2)}, format::RankMesh({2}));
  std::string folder = CheckpointFolder::stepPath(path("c"), 4);
  CheckpointReader reader;
  std::vector<std::string> problems;
  auto expectRefused = [&](const std::string &words) {
    verifyCheckpoint(folder, reader, problems, &trusted);
    ASSERT_FALSE(problems.empty()) << words;
    EXPECT_NE(problems[0].find(words), std::string::npos) << problems[0];
    verifyCheckpoint(folder, reader, problems);
    EXPECT_TRUE(problems.empty()) << problems[0];
  };
  expectRefused("has no signature");
  const SignedDigests right = digestsOf(folder);
  ASSERT_TRUE(writeSignedDigests(folder, right, key).ok());
  verifyCheckpoint(folder, reader, problems, &trusted);
  EXPECT_TRUE(problems.empty()) << problems[0];
  expectReads(reader, tensorOf("w", {7, 5}, 1, 3).spec, format::RankMesh({3}), 1);

  SignedDigests wrong = right;
  wrong.manifest[0] ^= 1;
  ASSERT_TRUE(writeSignedDigests(folder, wrong, key).ok());
  expectRefused("manifest.json' is not what was signed");
  wrong = right;
  wrong.shards[1][0][63] ^= 1; // a block with the hash of the manifest and other bytes
  ASSERT_TRUE(writeSignedDigests(folder, wrong, key).ok());
  expectRefused("are not what was signed");
  wrong = right;
  wrong.shards.pop_back();
  ASSERT_TRUE(writeSignedDigests(folder, wrong, key).ok());
  expectRefused("has digests of other shards or blocks");
  wrong = right;
  wrong.shards[0].clear();
  ASSERT_TRUE(writeSignedDigests(folder, wrong, key).ok());
  expectRefused("has digests of other shards or blocks");

  SecretKey other;
  ASSERT_TRUE(makeKey(other).ok());
  ASSERT_TRUE(writeSignedDigests(folder, right, other).ok());
  expectRefused("which is none of the trusted ones");
}

TEST_F(Reading, RefusesDigestsThatAreNone) {
  SecretKey key;
  ASSERT_TRUE(makeKey(key).ok());
  writeFile("keys", textOf(key.publicKey()));
  TrustedKeys trusted;
  ASSERT_TRUE(trusted.load(path("keys")).ok());
  std::string digest(64, 'a');
  for (const std::string &words :
       {std::string("[]"), std::string("{}"), std::string("[[[[[[]]]]]]"),
        text("{\"format\":\"dtc.signed-checkpoint/2\",\"manifest\":\"", digest,
             "\",\"shards\":[]}"),
        text("{\"format\":\"dtc.signed-checkpoint/1\",\"manifest\":\"a\",\"shards\":[]}"),
        text("{\"format\":\"dtc.signed-checkpoint/1\",\"manifest\":\"", digest,
             "\",\"shards\":[1]}"),
        text("{\"format\":\"dtc.signed-checkpoint/1\",\"manifest\":\"", digest,
             "\",\"shards\":[[1]]}")}) {
    writeFile("signed.json", words);
    writeFile("signed.json.minisig", sign(std::as_bytes(std::span(words)), "", key));
    SignedDigests digests;
    Status status = readSignedDigests(folder, trusted, digest, digests);
    EXPECT_EQ(status.statusCode(), StatusCode::DataLoss) << words;
  }
}

} // namespace
} // namespace dtc::rt
