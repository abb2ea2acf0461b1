#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/ManifestRead.h"

#include <gtest/gtest.h>

namespace dtc::rt {
namespace {

// "w" is 4 x 2 in f32, with rows 0 to 2 at byte 64 of one shard and the others at byte 64 of the
// other.
CheckpointManifest small() {
  CheckpointManifest manifest;
  manifest.producer = "dtrun";
  manifest.config = "{\"model_type\": \"gpt2\"}";
  manifest.run = {.step = 3,
                  .totalSteps = 9,
                  .seed = ~0ull,
                  .baseLearningRate = 0.1f,
                  .globalBatch = 8,
                  .skippedBatches = 5,
                  .sequenceLength = 16,
                  .samples = 100,
                  .skippedSteps = 2,
                  .skippedRow = 1,
                  .meanLoss = 2.5,
                  .meanLossSteps = 4,
                  .lossScale = 65536,
                  .spent = {{"other", 0.5}, {"training", 12.25}}};
  manifest.mesh = {{"dp", 2}};
  for (int i = 0; i < 2; ++i)
    manifest.shards.push_back({96, {std::string(32, 'a')}});
  CheckpointTensor tensor;
  tensor.name = "w";
  tensor.dtype = "F32";
  tensor.shape = tensor.storedShape = {4, 2};
  tensor.pieces = {{0, 64, {{0, 0}, {3, 2}}}, {1, 64, {{3, 0}, {1, 2}}}};
  manifest.tensors = {tensor};
  return manifest;
}

std::string complaint(const CheckpointManifest &manifest) {
  CheckpointManifest read;
  return parseManifest("m.json", toJson(manifest), read).message();
}

void expectComplaint(const CheckpointManifest &manifest, const std::string &words) {
  EXPECT_NE(complaint(manifest).find(words), std::string::npos) << complaint(manifest);
}

TEST(CheckpointManifest, IsReadAsWritten) {
  CheckpointManifest read;
  Status status = parseManifest("m.json", toJson(small()), read);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(toJson(read), toJson(small()));
  EXPECT_EQ(read.run.seed, ~0ull);
  EXPECT_EQ(read.run.skippedBatches, 5u);
  EXPECT_EQ(read.run.meanLoss, 2.5);
  EXPECT_EQ(read.run.meanLossSteps, 4u);
  EXPECT_EQ(read.run.spent, small().run.spent);
  EXPECT_EQ(read.config, small().config);
  EXPECT_EQ(read.run.baseLearningRate, 0.1f);
  EXPECT_EQ(read.bytes(), 192u);
  ASSERT_NE(read.find("w"), nullptr);
  EXPECT_EQ(read.find("v"), nullptr);
  EXPECT_EQ(entryName(*read.find("w"), read.find("w")->pieces[1]), "w[3:4, 0:2]");
}

// Older checkpoints of dtrun have no times of jobs.
TEST(CheckpointManifest, HasTensorsOfAllTypes) {
  for (format::DType type : format::EnumValuesDType()) {
    CheckpointManifest manifest = small(), read;
    manifest.tensors[0].dtype = format::storedName(type);
    EXPECT_EQ(manifest.tensors[0].width(), format::bytesOf(type));
    manifest.tensors[0].pieces[1].offset = 80;
    manifest.shards = {{128, {std::string(32, 'a')}}, {96, {std::string(32, 'a')}}};
    manifest.shards[1].bytes = 80 + 2 * manifest.tensors[0].width();
    Status status = parseManifest("m.json", toJson(manifest), read);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(read.tensors[0].dtype, manifest.tensors[0].dtype);
  }
}

TEST(CheckpointManifest, NeedsNoTimes) {
  CheckpointManifest manifest = small(), read;
  manifest.run.spent.clear();
  std::string json = toJson(manifest);
  EXPECT_EQ(json.find("spent_s"), std::string::npos);
  ASSERT_TRUE(parseManifest("m.json", json, read).ok());
  EXPECT_TRUE(read.run.spent.empty());
}

TEST(CheckpointManifest, WritesNoTimesThatItRefuses) {
  CheckpointManifest manifest = small(), read;
  manifest.run.spent = {{"training", 1e300 * 1e300}};
  ASSERT_TRUE(parseManifest("m.json", toJson(manifest), read).ok());
  EXPECT_EQ(read.run.spent[0].second, kMostSpentSeconds);
}

TEST(CheckpointManifest, RefusesTimesThatAreNone) {
  auto refused = [&](const std::string &to) {
    std::string json = toJson(small()), from = "{\"other\":0.5,\"training\":12.25}";
    json.replace(json.find(from), from.size(), to);
    CheckpointManifest read;
    return parseManifest("m.json", json, read).message();
  };
  std::string many;
  for (int i = 0; i < 65; ++i)
    many += (i ? ",\"c" : "{\"c") + std::to_string(i) + "\":1";
  for (const std::string &to : {std::string("[1]"), std::string("3"), many + "}"})
    EXPECT_NE(refused(to).find("'spent_s' is no object of at most 64 numbers"), std::string::npos)
        << to;
  EXPECT_NE(refused("{\"x\":-1}").find("'x' of 'spent_s' is -1, wanted seconds from 0"),
            std::string::npos);
  EXPECT_NE(refused("{\"x\":1e13}").find("wanted seconds from 0 to 1e+12"), std::string::npos);
  EXPECT_NE(refused("{\"x\":\"1\"}").find("'x' is no finite number"), std::string::npos);
}

TEST(CheckpointManifest, RefusesPiecesThatDoNotFit) {
  CheckpointManifest manifest = small();
  manifest.tensors[0].pieces[1].box.begin[0] = 2;
  expectComplaint(manifest, "pieces of tensor 'w' do not hold every element exactly once");
  manifest = small();
  manifest.tensors[0].pieces.pop_back();
  expectComplaint(manifest, "pieces of tensor 'w' do not hold every element exactly once");
  manifest = small();
  manifest.tensors[0].pieces[1].box.extent[0] = 2;
  expectComplaint(manifest, "has 2 indices from 3 on of dim 0, which has 4");
  manifest = small();
  manifest.tensors[0].pieces[1].box.begin[0] = ~0ull;
  expectComplaint(manifest, "of dim 0, which has 4");
  manifest = small();
  manifest.tensors[0].pieces[1].shard = 2;
  expectComplaint(manifest, "is in shard 2, of 2");
  manifest = small();
  manifest.tensors[0].pieces[0].offset = 80;
  expectComplaint(manifest, "has 24 bytes at 80 of 'shard-00000.safetensors', which has 96");
  manifest = small();
  manifest.tensors[0].pieces[0].offset = ~0ull - 3;
  expectComplaint(manifest, "which has 96");
  manifest = small();
  manifest.tensors[0].pieces[1] = {0, 70, {{3, 0}, {1, 2}}};
  expectComplaint(manifest, "both lie at byte 70");
}

TEST(CheckpointManifest, RefusesTensorsAndShardsThatAreNone) {
  CheckpointManifest manifest = small();
  manifest.tensors[0].dtype = "F64";
  expectComplaint(manifest, "has dtype 'F64'");
  manifest = small();
  manifest.tensors[0].shape = {1ull << 40, 1ull << 40};
  expectComplaint(manifest, "more bytes than 64 bits count");
  manifest = small();
  manifest.tensors.push_back(manifest.tensors[0]);
  expectComplaint(manifest, "wanted each once, in order of name");
  manifest = small();
  manifest.shards[0].bytes = ~0ull;
  expectComplaint(manifest, "no list of");
  manifest = small();
  manifest.shards[1].hashes[0][5] = 'G';
  expectComplaint(manifest, "hashes of 32 hex digits");
  manifest = small();
  manifest.run.skippedRow = 3;
  expectComplaint(manifest, "which cannot be");
}

TEST(CheckpointManifest, RefusesPathsAndOtherFormats) {
  CheckpointManifest read;
  auto refused = [&](std::string from, const std::string &to) {
    std::string json = toJson(small());
    json.replace(json.find(from), from.size(), to);
    return parseManifest("m.json", json, read).message();
  };
  EXPECT_NE(refused("shard-00001.safetensors", "../../x.safetensors").find("wanted 'shard-00001"),
            std::string::npos);
  EXPECT_NE(refused("dtc.checkpoint/1", "dtc.checkpoint/2").find("wanted dtc.checkpoint/1"),
            std::string::npos);
  EXPECT_NE(refused("\"step\":3", "\"step\":-3").find("'step' is no whole number"),
            std::string::npos);
  EXPECT_NE(refused("\"kind\":\"parameter\"", "\"kind\":\"x\"").find("is a 'x'"),
            std::string::npos);
  EXPECT_NE(parseManifest("m.json", std::string(1 << 20, '['), read).message().find("nests deeper"),
            std::string::npos);
  EXPECT_NE(parseManifest("m.json", "{", read).message().find("no JSON object"), std::string::npos);
}

} // namespace
} // namespace dtc::rt
