// Transfers between stages: their times by boundary, and their use in schedules.
#include "compiler/price/estimate/StageTransfers.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/search/pipeline/Transfers.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

// Stages have 4 devices on nodes of 8: the boundary between nodes is the slow one.
TEST(TransfersAlong, AreSlowerAtTheBordersOfNodes) {
  Result<Topology> topology = loadTopology("dgx-a100-80g", 2);
  ASSERT_TRUE(topology.ok());
  double bytes = 64e6;
  double inside = collectiveSeconds(CollectiveKind::SendRecv, bytes, {{2, 4}}, *topology);
  double border = collectiveSeconds(CollectiveKind::SendRecv, bytes, {{2, 8}}, *topology);
  ASSERT_LT(inside, border);
  EXPECT_EQ(transfersAlong({{4, 4}}, bytes, *topology),
            (std::vector<double>{inside, border, inside}));
}

// The three levels are node, leaf switch and spine.
TEST(TransfersAlong, KnowEachLevel) {
  Result<Topology> topology = loadTopology("dgx-h100", 64);
  ASSERT_TRUE(topology.ok());
  ASSERT_EQ(topology->levels.size(), 3u);
  std::vector<double> seconds = transfersAlong({{128, 4}}, 64e6, *topology);
  ASSERT_EQ(seconds.size(), 127u);
  EXPECT_LT(seconds[0], seconds[1]);  // node and leaf
  EXPECT_LE(seconds[1], seconds[63]); // over the spine, after 32 nodes
  for (size_t boundary = 0; boundary < seconds.size(); ++boundary)
    EXPECT_EQ(seconds[boundary], seconds[(boundary + 1) % 64 == 0  ? 63
                                         : (boundary + 1) % 2 == 0 ? 1
                                                                   : 0]);
}

TEST(TransfersAlong, AreAlikeOnOneLevel) {
  Result<Topology> topology = loadTopology("dgx-a100-80g", 2);
  ASSERT_TRUE(topology.ok());
  EXPECT_TRUE(transfersAlong({{2, 8}}, 64e6, *topology).empty());
}

// Each boundary takes its own time in both directions; interleaved schedules go back over all of
// them.
TEST(SetTransfers, FollowChunksOverStages) {
  PipelineProblem problem;
  problem.kind = ScheduleKind::Interleaved;
  problem.stages = 3;
  problem.virtualStages = 2;
  problem.chunks.resize(6);
  setTransfers(problem, 5, {1, 5});
  EXPECT_EQ(problem.chunks[0].sendForward, 1);
  EXPECT_EQ(problem.chunks[1].sendForward, 5);
  EXPECT_EQ(problem.chunks[1].sendBackward, 1);
  EXPECT_EQ(problem.chunks[2].sendForward, 5); // goes from the last stage to the first
  EXPECT_EQ(problem.chunks[3].sendForward, 1);
  problem.kind = ScheduleKind::ZeroBubbleV;
  setTransfers(problem, 5, {1, 5});
  EXPECT_EQ(problem.chunks[2].sendForward, 0); // A V turns on its own stage.
  EXPECT_EQ(problem.chunks[3].sendForward, 5);
  EXPECT_EQ(problem.chunks[4].sendForward, 1);
}

} // namespace
} // namespace dtc
