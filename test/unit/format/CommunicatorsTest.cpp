// Tests which communicators programs use, how many blocks these have, and the bytes of their
// buffers.
#include "runtime/format/Communicators.h"
#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

namespace dtc::format {
namespace {

constexpr uint64_t MiB = uint64_t(1) << 20;
constexpr uint64_t manyElements = 1 << 20;

// A file of two programs of two ranks each, data parallel, that pass tensors on. The first one
// sends over the list of groups[1] and receives over that of groups[2].
class Pipeline {
public:
  Pipeline() : builder({{"pp", 2}, {"dp", 2}}) {
    dp = builder.group({1});
    for (std::vector<uint32_t> ranks : {std::vector<uint32_t>{0, 2, 1, 3}, {2, 0, 3, 1}}) {
      auto group = std::make_unique<GroupT>();
      group->name = "stages";
      group->size = 2;
      group->ranks = std::move(ranks);
      builder.manifest.groups.push_back(std::move(group));
    }
    builder.manifest.programs.clear();
    builder.manifest.rank_program = {0, 0, 1, 1};
    for (bool isFirst : {true, false}) {
      test::ProgramBuilder stage({});
      uint32_t x = stage.buffer("x", manyElements);
      stage.program().num_streams = 4;
      auto all_reduce = [&](uint64_t count, uint8_t stream) {
        stage.add(test::collective(CollectiveKind::all_reduce, dp, x, x, count), stream);
      };
      all_reduce(1, 0);
      all_reduce(manyElements, 1);
      stage.add(test::transfer(isFirst ? TransferKind::send : TransferKind::receive, dp + 1, 1, x,
                               manyElements),
                2);
      stage.add(test::transfer(isFirst ? TransferKind::receive : TransferKind::send, dp + 2, 1, x,
                               manyElements),
                3);
      if (!isFirst)
        all_reduce(manyElements, 0);
      builder.manifest.programs.push_back(std::make_unique<ProgramT>(std::move(stage.program())));
    }
    packed.Finish(Manifest::Pack(packed, &builder.manifest));
  }

  const Manifest &manifest() { return *flatbuffers::GetRoot<Manifest>(packed.GetBufferPointer()); }

  test::ProgramBuilder builder;
  flatbuffers::FlatBufferBuilder packed;
  uint32_t dp = 0;
};

TEST(Communicators, AreThoseOfStreamsAndDirections) {
  Pipeline pipeline;
  Communicators found(pipeline.manifest());
  EXPECT_EQ(found.all().size(), 4u);
  EXPECT_EQ(found.numBeside(), 3u); // gradients, and one for each direction
  // One on stream 0 is large in one program, so that all ranks have as many blocks as NCCL likes.
  EXPECT_EQ(found.blocksOf({pipeline.dp, false, 0}), 0u);
  EXPECT_EQ(found.blocksOf({pipeline.dp, false, 1}), mostBlocksOfCollectives);
  EXPECT_EQ(found.blocksOf({pipeline.dp + 1, true, 1}), mostBlocksOfTransfers);
  for (uint32_t program : {0, 1}) {
    std::vector<Communicator> made = found.of(program);
    ASSERT_EQ(made.size(), 4u);
    EXPECT_FALSE(made[0].isTransfer || made[1].isTransfer);
    EXPECT_EQ(made[2].receives, program == 1);
    EXPECT_EQ(made[3].receives, program == 0);
  }
  EXPECT_TRUE(found.useOf(0, {pipeline.dp + 1, true, 1}).sends);
  EXPECT_FALSE(found.useOf(1, {pipeline.dp + 1, true, 1}).sends);
}

TEST(Communicators, HaveFewBlocksWhereTheyNeedNoMore) {
  CommunicatorKey norms{0, false, 0}, gradients{0, false, 1}, transfers{0, true, 1};
  CommunicatorUse few{.mostBytes = fewBytes}, many{.mostBytes = fewBytes + 1};
  EXPECT_EQ(mostBlocksOf(norms, few, 1), 1u);
  EXPECT_EQ(mostBlocksOf(norms, many, 1), 0u);
  EXPECT_EQ(mostBlocksOf(gradients, few, 1), 1u);
  EXPECT_EQ(mostBlocksOf(gradients, many, 1), 16u);
  EXPECT_EQ(mostBlocksOf(transfers, few, 1), 4u);
  // All of them together have 64.
  EXPECT_EQ(mostBlocksOf(gradients, many, 8), 8u);
  EXPECT_EQ(mostBlocksOf(transfers, many, 21), 3u);
  EXPECT_EQ(mostBlocksOf(transfers, many, 1000), 1u);
}

// 10 MiB a block and connection, 2 MiB a block and rank for NVLS.
TEST(Communicators, TakeMemoryByBlocksAndConnections) {
  EXPECT_EQ(bufferBytesOf({.ranks = 2, .blocks = 4, .isTransfer = true}), 80 * MiB);
  EXPECT_EQ(bufferBytesOf({.ranks = 2, .blocks = 4, .isTransfer = true, .receives = true}),
            120 * MiB);
  EXPECT_EQ(bufferBytesOf({.ranks = 2, .blocks = 16}), 16 * (20 + 4) * MiB);
  EXPECT_EQ(bufferBytesOf({.ranks = 8, .blocks = 16}), 16 * (30 + 16) * MiB);
  EXPECT_EQ(bufferBytesOf({.ranks = 1024, .blocks = 1}), (30 + 16) * MiB);
  EXPECT_EQ(bufferBytesOf({.ranks = 8}), 24 * (30 + 16) * MiB);
  EXPECT_EQ(bufferBytesOf({.ranks = 8, .blocks = 16, .exchanges = true}),
            16 * (30 + 70 + 16) * MiB);
  Pipeline pipeline;
  Communicators found(pipeline.manifest());
  uint64_t sum = (24 + 16) * 24 * MiB + (80 + 120) * MiB;
  EXPECT_EQ(found.bytesOf(0), sum);
  EXPECT_EQ(found.bytesOf(1), sum);
}

// A group of one rank makes no communicator.
TEST(Communicators, AreNoneAlone) {
  test::ProgramBuilder builder({{"dp", 1}});
  uint32_t x = builder.buffer("x", 8);
  builder.add(test::collective(CollectiveKind::all_reduce, builder.group({0}), x, x, 8), 0);
  flatbuffers::FlatBufferBuilder packed;
  packed.Finish(Manifest::Pack(packed, &builder.manifest));
  Communicators found(*flatbuffers::GetRoot<Manifest>(packed.GetBufferPointer()));
  EXPECT_TRUE(found.of(0).empty());
  EXPECT_EQ(found.bytesOf(0), 0u);
}

} // namespace
} // namespace dtc::format
