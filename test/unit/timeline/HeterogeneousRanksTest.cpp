// Tests the seconds of instructions if devices differ.
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/show/timeline/InstructionCost.h"

#include "gtest/gtest.h"

#include <numeric>

namespace dtc {
namespace {

// Three stages of 8 ranks, on a node of L4, one of A100 and one of H100. Each stage has its own
// program, in another order.
class HeterogeneousDevices : public testing::Test {
protected:
  void SetUp() override {
    Result<Topology> loaded = loadTopology("mixed-l4-a100-h100");
    ASSERT_TRUE(loaded.ok());
    topology = *loaded;
    for (uint32_t rank = 0; rank < 24; ++rank)
      manifest.rank_program.push_back(2 - rank / 8);
    for (int program = 0; program < 3; ++program)
      manifest.programs.push_back(std::make_unique<format::ProgramT>());
  }

  uint32_t group(uint32_t size, std::vector<uint32_t> ranks) {
    manifest.groups.push_back(std::make_unique<format::GroupT>());
    manifest.groups.back()->name = "lists";
    manifest.groups.back()->size = size;
    manifest.groups.back()->ranks = std::move(ranks);
    return static_cast<uint32_t>(manifest.groups.size() - 1);
  }

  // Returns the seconds of `op` on each of the ranks.
  template <typename OpT> std::vector<double> secondsOf(OpT op, std::vector<uint32_t> ranks) {
    format::InstructionT made;
    made.op.Set(std::move(op));
    flatbuffers::FlatBufferBuilder builder, ofInstruction;
    builder.Finish(format::Manifest::Pack(builder, &manifest));
    ofInstruction.Finish(format::Instruction::Pack(ofInstruction, &made));
    InstructionCost cost =
        costOn(*flatbuffers::GetRoot<format::Manifest>(builder.GetBufferPointer()), topology);
    std::vector<double> seconds;
    for (uint32_t rank : ranks)
      seconds.push_back(
          cost(rank, *flatbuffers::GetRoot<format::Instruction>(ofInstruction.GetBufferPointer()))
              .seconds);
    return seconds;
  }

  format::ManifestT manifest;
  Topology topology;
};

TEST_F(HeterogeneousDevices, ComputeAsFastAsTheRankThatDoes) {
  format::GemmT gemm;
  gemm.m = gemm.n = gemm.k = 4096;
  std::vector<double> seconds = secondsOf(gemm, {0, 8, 16});
  OpWork work = productWork(4096, 4096, 4096, 1, ComputeType::F32);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(seconds[i], dtc::secondsOf(work, topology.groups[i].device, Launch::Replayed));
  EXPECT_NE(seconds[0], seconds[2]);
}

TEST_F(HeterogeneousDevices, MeetOverTheLinksOfTheirOwnNode) {
  std::vector<uint32_t> all(24);
  std::iota(all.begin(), all.end(), 0u);
  format::CollectiveT op;
  op.group = group(8, all);
  op.count = 1 << 20;
  std::vector<double> seconds = secondsOf(op, {3, 11, 19});
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(seconds[i], collectiveSeconds(CollectiveKind::AllReduce, 4 << 20, {{8, 1}},
                                            topology.slice(static_cast<int64_t>(i) * 8, 8)));
  EXPECT_GT(seconds[0], 2 * seconds[2]); // PCIe, NVSwitch
}

// All ranks have one program, so one rank represents others, and all wait for the slowest.
TEST_F(HeterogeneousDevices, ComputeLikeTheSlowestWhereOneProgramIsOnAll) {
  manifest.rank_program.assign(24, 0);
  format::GemmT gemm;
  gemm.m = gemm.n = gemm.k = 4096;
  OpWork work = productWork(4096, 4096, 4096, 1, ComputeType::F32);
  for (double seconds : secondsOf(gemm, {0, 16}))
    EXPECT_EQ(seconds, dtc::secondsOf(work, topology.device, Launch::Replayed));
  std::vector<uint32_t> all(24);
  std::iota(all.begin(), all.end(), 0u);
  format::CollectiveT op;
  op.group = group(8, all);
  op.count = 1 << 20;
  EXPECT_EQ(secondsOf(op, {19})[0],
            collectiveSeconds(CollectiveKind::AllReduce, 4 << 20, {{8, 1}}, topology));
}

// Lists are in the order of positions, not of ranks.
TEST_F(HeterogeneousDevices, MeetAcrossNodesInWhateverOrder) {
  format::CollectiveT op;
  op.count = 1 << 20;
  op.group = group(2, {16, 0});
  double apart = secondsOf(op, {16})[0];
  EXPECT_EQ(apart, collectiveSeconds(CollectiveKind::AllReduce, 4 << 20, {{2, 16}}, topology));
  op.group = group(3, {16, 0, 7});
  EXPECT_EQ(secondsOf(op, {16})[0],
            collectiveSeconds(CollectiveKind::AllReduce, 4 << 20, {{3, 8}}, topology));
}

// All ranks of a stage send at the same time.
TEST_F(HeterogeneousDevices, ShareTheWayToDifferentOnes) {
  std::vector<uint32_t> pairs;
  std::vector<int64_t> from, to;
  for (uint32_t rank = 0; rank < 8; ++rank) {
    pairs.insert(pairs.end(), {rank + 16, rank + 8});
    from.push_back(rank + 16);
    to.push_back(rank + 8);
  }
  format::TransferT op;
  op.group = group(2, pairs);
  op.shift = 1;
  op.count = 1 << 20;
  Path path = pathBetween(from, to, topology);
  EXPECT_DOUBLE_EQ(secondsOf(op, {18})[0], path.latency + (4 << 20) / (path.bandwidth / 8));
  op.kind = format::TransferKind::receive;
  EXPECT_DOUBLE_EQ(secondsOf(op, {10})[0], path.latency + (4 << 20) / (path.bandwidth / 8));
}

} // namespace
} // namespace dtc
