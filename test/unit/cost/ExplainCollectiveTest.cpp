// Tests which algorithm the model chooses for a collective.
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/Cost.h"

#include <gtest/gtest.h>

using namespace dtc;

// NCCL on DGX H100 uses trees for a few bytes and NVLink's switches for many. Without them, on
// A100, it uses rings.
TEST(ExplainCollective, NamesNcclsAlgorithm) {
  Topology h100 = *loadTopology("dgx-h100"), a100 = *loadTopology("dgx-a100-80g");
  RankGroup node{{8, 1}};
  CollectiveChoice small = explainCollective(CollectiveKind::AllReduce, 1024, node, h100);
  EXPECT_EQ(small.protocol, "LL");
  CollectiveChoice large = explainCollective(CollectiveKind::AllReduce, 1e9, node, h100);
  EXPECT_EQ(large.algorithm, "NVLink switch");
  CollectiveChoice ring = explainCollective(CollectiveKind::AllReduce, 1e9, node, a100);
  EXPECT_EQ(ring.algorithm, "ring");
  EXPECT_EQ(ring.protocol, "Simple");
  EXPECT_EQ(explainCollective(CollectiveKind::AllToAll, 1e6, node, a100).algorithm, "pairs");
}

// Collectives between processes have no protocols.
TEST(ExplainCollective, NamesTheAlgorithmBetweenProcesses) {
  Topology cpu = *loadTopology("cpu", 0, 4);
  CollectiveChoice choice = explainCollective(CollectiveKind::AllGather, 1e6, {{4, 1}}, cpu);
  EXPECT_FALSE(choice.algorithm.empty());
  EXPECT_TRUE(choice.protocol.empty());
}

TEST(ExplainCollective, HasTheSecondsOfTheCollective) {
  for (const char *name : {"dgx-h100", "dgx-a100-80g", "tpu-v4", "cpu"}) {
    Topology topology = *loadTopology(name, 0, 8);
    for (CollectiveKind kind :
         {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
          CollectiveKind::AllToAll, CollectiveKind::Broadcast, CollectiveKind::SendRecv})
      for (double bytes : {1e3, 1e6, 1e9})
        EXPECT_EQ(explainCollective(kind, bytes, {{8, 1}}, topology).seconds,
                  collectiveSeconds(kind, bytes, {{8, 1}}, topology))
            << name;
  }
  EXPECT_EQ(
      explainCollective(CollectiveKind::AllReduce, 0, {{8, 1}}, *loadTopology("dgx-h100")).seconds,
      0);
}
