// Tests whole parameters from and to the shards of a mesh of loopback ranks.
#include "runtime/base/Fill.h"
#include "runtime/checkpoint/LoadParameters.h"
#include "runtime/checkpoint/MatchWeights.h"
#include "runtime/checkpoint/ParameterDump.h"
#include "runtime/checkpoint/SafetensorsRead.h"
#include "runtime/checkpoint/SafetensorsWrite.h"
#include "runtime/checkpoint/WeightFiles.h"
#include "runtime/comm/Loopback.h"
#include "test/unit/data/TempFolder.h"

#include <algorithm>
#include <thread>

namespace dtc::rt {
namespace {
using Shape = std::vector<uint64_t>;
using Mesh = std::vector<uint32_t>;

TensorSpec tensor(const std::string &name, Shape global, Shape stored,
                  std::vector<ShardedDim> shards, const Mesh &mesh) {
  TensorSpec spec;
  spec.name = name;
  spec.globalShape = spec.localShape = std::move(global);
  spec.storedShape = std::move(stored);
  spec.shards = std::move(shards);
  for (const ShardedDim &shard : spec.shards) {
    uint64_t parts = mesh[shard.axis];
    spec.localShape[shard.dim] = (spec.globalShape[shard.dim] + parts - 1) / parts;
  }
  spec.init = InitKind::Normal;
  spec.initKey = std::hash<std::string>()(name);
  return spec;
}

// Returns a model with each kind of sharding and sizes that do not divide. It is unsharded without
// a mesh.
std::vector<TensorSpec> model(const Mesh &mesh) {
  auto over = [&](std::vector<ShardedDim> shards) {
    return mesh.empty() ? std::vector<ShardedDim>() : shards;
  };
  return {
      tensor("transformer.wte.weight", {7, 4}, {7, 4}, over({{0, 1}}), mesh),
      tensor("transformer.h.0.attn.c_attn.weight", {4, 3, 2, 2}, {4, 12}, over({{2, 1}}), mesh),
      tensor("transformer.h.0.attn.c_attn.bias", {3, 3, 1}, {9}, over({{1, 0}}), mesh),
      tensor("transformer.h.0.mlp.weight", {5, 6}, {5, 6}, over({{0, 0}, {1, 1}}), mesh),
      tensor("transformer.h.0.norms.*.weight", {4, 3}, {4, 3}, over({{0, 1}}), mesh),
      tensor("transformer.ln_f.weight", {4}, {4}, {}, mesh),
      tensor("transformer.scale", {}, {}, {}, mesh),
      tensor("transformer.one", {1}, {1}, over({{0, 1}}), mesh),
  };
}

// The mesh has a third axis of stages: every other tensor is in stage 0, the rest in stage 1, and
// the first one in both.
std::vector<TensorSpec> modelInStages(const Mesh &mesh) {
  std::vector<TensorSpec> specs = model(mesh);
  for (size_t i = 1; i < specs.size(); ++i)
    for (uint32_t rank = 0; rank < mesh[0] * mesh[1] * mesh[2]; ++rank)
      if (rank % mesh[2] == i % 2)
        specs[i].holders.push_back(rank);
  return specs;
}

std::vector<float> shardOf(const TensorSpec &spec, const Mesh &mesh,
                           const std::vector<uint32_t> &at) {
  std::vector<float> local(elementCount(spec.localShape));
  EXPECT_TRUE(initialiseTensor(spec, 17, mesh, at, local).ok());
  return local;
}

Status write(const std::string &path, const std::vector<TensorSpec> &specs, const Mesh &mesh,
             Comm &world, const ShardReader &read) {
  ParameterDump dump(specs, format::RankMesh(mesh), world);
  DTC_RETURN_IF_ERROR(dump.open(path));
  return dump.write(read);
}

class ParametersTest : public TempFolder {
protected:
  // Dumps the initial values of `model(mesh)` from as many loopback ranks. Returns their statuses.
  std::vector<Status> dump(const Mesh &mesh, const std::string &name, int failingRank = -1) {
    int ranks = 1;
    for (uint32_t size : mesh)
      ranks *= static_cast<int>(size);
    auto world = makeLoopbackWorld(ranks, 20);
    std::vector<Status> statuses(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        std::vector<TensorSpec> specs = mesh.size() == 3 ? modelInStages(mesh) : model(mesh);
        // Ranks may list their tensors in any order.
        std::rotate(specs.begin(), specs.begin() + rank % 3, specs.end());
        auto at = format::RankMesh(mesh).coordinatesOf(static_cast<uint32_t>(rank));
        auto read = [&](size_t index, std::span<float> local) {
          if (rank == failingRank && specs[index].name == "transformer.h.0.mlp.weight")
            return Status::internal("the device is gone");
          EXPECT_TRUE(specs[index].isHeldBy(static_cast<uint32_t>(rank)));
          std::vector<float> values = shardOf(specs[index], mesh, at);
          EXPECT_EQ(values.size(), local.size());
          std::copy(values.begin(), values.end(), local.begin());
          return Status::okStatus();
        };
        statuses[static_cast<size_t>(rank)] =
            write(path(name), specs, mesh, *world[static_cast<size_t>(rank)], read);
      });
    for (std::thread &thread : threads)
      thread.join();
    return statuses;
  }

  Status load(const std::vector<TensorSpec> &specs, const Mesh &mesh = {}, uint32_t rank = 0) {
    return loadParameters(path("x"), specs, format::RankMesh(mesh), rank,
                          [](size_t, std::span<const float>) { return Status::okStatus(); });
  }
  // Writes a file of zeros.
  void writeTensors(const std::vector<SafetensorsTensor> &tensors) {
    SafetensorsWriter writer;
    ASSERT_TRUE(writer.open(path("x"), tensors).ok());
    for (const auto &[name, shape, dtype] : tensors)
      ASSERT_TRUE(writer.write(std::vector<float>(elementCount(shape))).ok());
    ASSERT_TRUE(writer.finish().ok());
  }
};

TEST_F(ParametersTest, DumpsATensorForEachIndexOfAStar) {
  for (const Status &status : dump({1, 2}, "one"))
    ASSERT_TRUE(status.ok()) << status.message();
  SafetensorsFile file;
  ASSERT_TRUE(file.open(path("one")).ok());
  EXPECT_EQ(file.find("transformer.h.0.norms.*.weight"), nullptr);
  const TensorSpec norms = model({})[4];
  std::vector<float> all = shardOf(norms, {}, {});
  for (uint64_t part = 0; part < 4; ++part) {
    const SafetensorsEntry *entry = file.find(memberOf(norms.name, part));
    ASSERT_NE(entry, nullptr) << part;
    EXPECT_EQ(entry->shape, (Shape{3}));
    std::vector<float> values(3);
    ASSERT_TRUE(file.readFloats(*entry, 0, values).ok());
    EXPECT_TRUE(std::equal(values.begin(), values.end(), all.begin() + 3 * part)) << part;
  }
}

TEST_F(ParametersTest, DumpsTheSameBytesFromEveryMesh) {
  for (const Status &status : dump({1, 1}, "one"))
    ASSERT_TRUE(status.ok()) << status.message();
  std::string wanted = readFile("one");
  for (const Mesh &mesh : {Mesh{2, 1}, Mesh{1, 2}, Mesh{2, 2}, Mesh{1, 3}, Mesh{3, 2}, Mesh{1, 8},
                           Mesh{1, 1, 2}, Mesh{2, 2, 2}}) {
    for (const Status &status : dump(mesh, "many"))
      ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(readFile("many"), wanted) << mesh[0] << " x " << mesh[1];
  }
  SafetensorsFile file;
  ASSERT_TRUE(file.open(path("one")).ok());
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_EQ(file.entries().size(), 11u); // one of 8 parameters is 4 tensors
  EXPECT_EQ(file.find("transformer.h.0.attn.c_attn.weight")->shape, (Shape{4, 12}));
  for (const TensorSpec &spec : model({})) {
    if (spec.name.find('*') != std::string::npos)
      continue;
    std::vector<float> values(elementCount(spec.globalShape));
    ASSERT_TRUE(file.readFloats(*file.find(spec.name), 0, values).ok());
    EXPECT_EQ(values, shardOf(spec, {}, {})) << spec.name;
  }
}

// The file has the whole model. Tensors of other stages are known, but not read.
TEST_F(ParametersTest, LoadsWhatAStageHolds) {
  for (const Status &status : dump({2, 2, 2}, "x"))
    ASSERT_TRUE(status.ok()) << status.message();
  Mesh mesh = {2, 1, 2};
  std::vector<TensorSpec> specs = modelInStages(mesh);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    std::vector<uint32_t> at = format::RankMesh(mesh).coordinatesOf(rank);
    std::vector<size_t> loaded, held;
    for (size_t i = 0; i < specs.size(); ++i)
      if (i == 0 || rank % 2 == i % 2)
        held.push_back(i);
    Status status = loadParameters(path("x"), specs, format::RankMesh(mesh), rank,
                                   [&](size_t index, std::span<const float> local) {
                                     loaded.push_back(index);
                                     EXPECT_EQ(std::vector<float>(local.begin(), local.end()),
                                               shardOf(specs[index], mesh, at));
                                     return Status::okStatus();
                                   });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(loaded, held);
  }
}

TEST_F(ParametersTest, LoadsEveryShardOfWhatWasDumped) {
  for (const Status &status : dump({2, 2}, "x"))
    ASSERT_TRUE(status.ok()) << status.message();
  Mesh mesh = {2, 3};
  std::vector<TensorSpec> specs = model(mesh);
  for (uint32_t rank = 0; rank < 6; ++rank) {
    auto at = format::RankMesh(mesh).coordinatesOf(rank);
    size_t next = 0;
    Status status = loadParameters(
        path("x"), specs, format::RankMesh(mesh), rank,
        [&](size_t index, std::span<const float> local) {
          EXPECT_EQ(index, next++);
          EXPECT_EQ(std::vector<float>(local.begin(), local.end()), shardOf(specs[index], mesh, at))
              << specs[index].name << " of rank " << rank;
          return Status::okStatus();
        });
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(next, specs.size());
  }
}

// Ranks at positions that differ from their numbers write the same file, and find their shards in
// it.
TEST_F(ParametersTest, FindsShardsByThePositionsOfRanks) {
  for (const Status &status : dump({2, 3}, "x"))
    ASSERT_TRUE(status.ok()) << status.message();
  Mesh mesh = {2, 3};
  format::RankMesh ranks(mesh, {1, 3, 5, 0, 2, 4});
  std::vector<TensorSpec> specs = model(mesh);
  auto world = makeLoopbackWorld(6, 20);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < 6; ++rank)
    threads.emplace_back([&, rank] {
      std::vector<uint32_t> at = {1 - rank % 2, rank / 2};
      EXPECT_EQ(ranks.coordinatesOf(rank), at);
      EXPECT_EQ(ranks.rankAt(at), rank);
      ParameterDump dump(specs, ranks, *world[rank]);
      EXPECT_TRUE(dump.open(path("y")).ok());
      Status status = dump.write([&](size_t index, std::span<float> local) {
        std::vector<float> values = shardOf(specs[index], mesh, at);
        std::copy(values.begin(), values.end(), local.begin());
        return Status::okStatus();
      });
      EXPECT_TRUE(status.ok()) << status.message();
      status = loadParameters(path("x"), specs, ranks, rank,
                              [&](size_t index, std::span<const float> local) {
                                EXPECT_EQ(std::vector<float>(local.begin(), local.end()),
                                          shardOf(specs[index], mesh, at));
                                return Status::okStatus();
                              });
      EXPECT_TRUE(status.ok()) << status.message();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(readFile("x"), readFile("y"));
}

TEST_F(ParametersTest, IsAllOrNothingWhenARankFails) {
  writeFile("x", "old");
  std::vector<Status> statuses = dump({2, 2}, "x", /*failingRank=*/3);
  // The statuses agree, so that the job ends with one exit code.
  for (const Status &status : statuses) {
    EXPECT_EQ(status.statusCode(), StatusCode::Internal);
    EXPECT_EQ(status.message(), "rank 3: the device is gone");
  }
  EXPECT_EQ(readFile("x"), "old");
  statuses = dump({2, 2}, "no/such/folder/x");
  EXPECT_EQ(statuses[0].statusCode(), StatusCode::NotFound);
  EXPECT_EQ(statuses[1].statusCode(), StatusCode::NotFound);
}

TEST_F(ParametersTest, RefusesRanksThatDisagree) {
  auto world = makeLoopbackWorld(2, 20);
  Mesh mesh = {2};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      std::vector<TensorSpec> specs = {tensor(rank == 0 ? "a" : "b", {4}, {4}, {{0, 0}}, mesh)};
      auto read = [](size_t, std::span<float>) { return Status::okStatus(); };
      Status status = write(path("x"), specs, mesh, *world[static_cast<size_t>(rank)], read);
      EXPECT_EQ(status.message(), "writing '" + path("x") + "': the ranks hold different tensors");
    });
  for (std::thread &thread : threads)
    thread.join();
  auto alone = makeLoopbackWorld(1);
  auto read = [](size_t, std::span<float>) { return Status::okStatus(); };
  EXPECT_EQ(write(path("x"), {}, mesh, *alone[0], read).message(),
            "writing '" + path("x") + "': the mesh has 2 ranks, the job 1");
}

TEST_F(ParametersTest, AcceptsNamesWithAndWithoutThePrefix) {
  TensorSpec with = tensor("transformer.wte.weight", {2, 2}, {2, 2}, {}, {});
  TensorSpec without = tensor("wte.weight", {2, 2}, {2, 2}, {}, {});
  writeTensors({{"wte.weight", {2, 2}}});
  EXPECT_TRUE(load({with}).ok());
  EXPECT_TRUE(load({without}).ok());
  writeTensors({{"transformer.wte.weight", {2, 2}}});
  EXPECT_TRUE(load({with}).ok());
  EXPECT_TRUE(load({without}).ok());
  EXPECT_EQ(load({with, without}).message(), "loading '" + path("x") +
                                                 "': of its tensors 1 wanted twice: "
                                                 "'transformer.wte.weight'");
}

TEST_F(ParametersTest, NamesMissingUnknownAndMisshapedTensors) {
  writeTensors({{"a", {2, 2}}, {"b", {4}}, {"extra", {1}}});
  std::vector<TensorSpec> specs = {
      tensor("a", {2, 2}, {4}, {}, {}),
      tensor("b", {4}, {4}, {}, {}),
      tensor("c", {3}, {3}, {}, {}),
      tensor("d", {}, {}, {}, {}),
  };
  Status status = load(specs);
  EXPECT_EQ(status.statusCode(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message(),
            "loading '" + path("x") +
                "': of its tensors 1 of another shape: 'a' is [2, 2], wanted [4]; 2 missing: 'c' "
                "[3], 'd' []; 1 unknown to the model: 'extra'");
  // Only the first few are named.
  specs.clear();
  for (char letter = 'p'; letter <= 'v'; ++letter)
    specs.push_back(tensor(std::string(1, letter), {1}, {1}, {}, {}));
  writeTensors({});
  EXPECT_EQ(load(specs).message(),
            "loading '" + path("x") +
                "': of its tensors 7 missing: 'p' [1], 'q' [1], 'r' [1], 's' [1], 't' [1] and 2 "
                "more");
}

TEST_F(ParametersTest, SkipsTheBuffersOfHuggingFaceFiles) {
  writeTensors({{"wte.weight", {2, 2}},
                {"h.0.attn.bias", {1, 1, 4, 4}},
                {"h.0.attn.masked_bias", {}},
                {"lm_head.weight", {2, 2}}});
  TensorSpec embedding = tensor("transformer.wte.weight", {2, 2}, {2, 2}, {}, {});
  EXPECT_TRUE(load({embedding}).ok());
  // A head with another shape or other values is not tied.
  writeTensors({{"wte.weight", {2, 2}}, {"lm_head.weight", {2, 3}}});
  std::string unequal =
      "loading '" + path("x") +
      "': of its tensors 1 unequal to the embedding that the model ties it to: 'lm_head.weight'";
  EXPECT_EQ(load({embedding}).message(), unequal);
  SafetensorsWriter writer;
  ASSERT_TRUE(writer.open(path("x"), {{"wte.weight", {2, 2}}, {"lm_head.weight", {2, 2}}}).ok());
  ASSERT_TRUE(writer.write(std::vector<float>{1, 2, 3, 4, 1, 2, 3, 5}).ok());
  ASSERT_TRUE(writer.finish().ok());
  EXPECT_EQ(load({embedding}).message(), unequal);
}

// A model without tied parameters may have its head under another name than the file.
TEST_F(ParametersTest, NamesTheMissingParameterThatAHeadMayBe) {
  TensorSpec embedding = tensor("wte.weight", {4, 2}, {4, 2}, {}, {}),
             head = tensor("head.weight", {4, 2}, {4, 2}, {}, {});
  SafetensorsWriter writer;
  ASSERT_TRUE(writer.open(path("x"), {{"wte.weight", {4, 2}}, {"lm_head.weight", {4, 2}}}).ok());
  ASSERT_TRUE(
      writer.write(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1}).ok());
  ASSERT_TRUE(writer.finish().ok());
  EXPECT_EQ(load({embedding, head}).message(),
            "loading '" + path("x") +
                "': of its tensors 1 missing: 'head.weight' [4, 2]; 1 unknown to the model: "
                "'lm_head.weight' (is it the missing 'head.weight'?)");
}

TEST_F(ParametersTest, ConvertsHalfPrecisionAndRefusesIntegers) {
  std::string header =
      R"({"a":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},"b":{"dtype":"F16","shape":[2],"data_offsets":[6,10]}})";
  writeFile("x", bytesOfValues<uint64_t>({static_cast<int64_t>(header.size())}) + header +
                     bytesOfValues<uint16_t>({0x3f80, 0x4000, 0xc0a0, 0x3c00, 0xc500}));
  Mesh mesh = {2};
  std::vector<TensorSpec> specs = {tensor("a", {3}, {3}, {{0, 0}}, mesh),
                                   tensor("b", {2}, {2}, {}, mesh)};
  std::vector<std::vector<float>> got;
  ASSERT_TRUE(loadParameters(path("x"), specs, format::RankMesh(mesh), 1,
                             [&](size_t, std::span<const float> local) {
                               got.emplace_back(local.begin(), local.end());
                               return Status::okStatus();
                             })
                  .ok());
  EXPECT_EQ(got, (std::vector<std::vector<float>>{{-5, 0}, {1, -5}}));
  header = R"({"b":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}})";
  writeFile("x", bytesOfValues<uint64_t>({static_cast<int64_t>(header.size())}) + header +
                     std::string(8, 'x'));
  EXPECT_EQ(load({specs[1]}).message(),
            "loading '" + path("x") +
                "': of its tensors 1 of another dtype: 'b' is I32, wanted F32, BF16 or F16");
}

TEST_F(ParametersTest, PassesTheErrorsOfTheWriter) {
  writeTensors({{"b", {2}}});
  Status status = loadParameters(
      path("x"), std::vector{tensor("b", {2}, {2}, {}, {})}, format::RankMesh(Mesh()), 0,
      [](size_t, std::span<const float>) { return Status::internal("the device is gone"); });
  EXPECT_EQ(status.message(), "the device is gone");
  EXPECT_EQ(loadParameters(path("none"), {}, format::RankMesh(Mesh()), 0, nullptr).statusCode(),
            StatusCode::NotFound);
}
} // namespace
} // namespace dtc::rt
