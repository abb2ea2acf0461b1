// Stages on heterogeneous devices: cuts, device groups and plans.
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/estimate/StageDevices.h"
#include "compiler/price/estimate/StageSplit.h"
#include "compiler/price/estimate/StepEstimate.h"

#include "gtest/gtest.h"

#include <random>

namespace dtc {
namespace {

double slowestOf(const std::vector<ChunkDevices> &chunks, const LayerChunks &cut) {
  double most = 0;
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    double seconds = chunks[chunk].extra;
    for (int64_t layer = cut[chunk].first; layer <= cut[chunk].second; ++layer)
      seconds += chunks[chunk].seconds[static_cast<size_t>(layer)];
    most = std::max(most, seconds);
  }
  return most;
}

// Returns the slowest chunk of the best of all cuts; negative if none holds all layers.
double bestOf(const std::vector<ChunkDevices> &chunks, LayerChunks &cut, int64_t first) {
  auto layers = static_cast<int64_t>(chunks.front().seconds.size());
  size_t chunk = cut.size();
  if (chunk == chunks.size())
    return first == layers ? slowestOf(chunks, cut) : -1;
  double best = -1;
  // The head may be alone, and so may the embedding if layers are few.
  bool mayBeEmpty =
      chunk == 0 ? chunks.size() > chunks.front().seconds.size() : chunk + 1 == chunks.size();
  int64_t least = mayBeEmpty ? first - 1 : first;
  for (int64_t last = least; last < layers && last - first < chunks[chunk].mostLayers; ++last) {
    cut.emplace_back(first, last);
    double seconds = bestOf(chunks, cut, last + 1);
    cut.pop_back();
    if (seconds >= 0 && (best < 0 || seconds < best))
      best = seconds;
  }
  return best;
}

TEST(CutOverHeterogeneous, IsTheBestOfAllCuts) {
  std::mt19937 random(3);
  auto seconds = [&] { return std::uniform_real_distribution<double>(0.1, 2)(random); };
  int possible = 0;
  for (int round = 0; round < 500; ++round) {
    auto layers = static_cast<int64_t>(1 + random() % 8);
    std::vector<ChunkDevices> chunks(1 + random() % 3);
    for (ChunkDevices &chunk : chunks) {
      for (int64_t layer = 0; layer < layers; ++layer)
        chunk.seconds.push_back(seconds());
      chunk.extra = random() % 2 ? seconds() : 0;
      chunk.mostLayers = static_cast<int64_t>(1 + random() % 6);
    }
    LayerChunks scratch, cut = cutOverHeterogeneous(chunks);
    double best = bestOf(chunks, scratch, 0);
    ASSERT_EQ(cut.empty(), best < 0) << round;
    if (cut.empty())
      continue;
    ++possible;
    EXPECT_NEAR(slowestOf(chunks, cut), best, 1e-9 * best) << round;
    for (size_t chunk = 0; chunk < cut.size(); ++chunk)
      EXPECT_LE(cut[chunk].second - cut[chunk].first + 1, chunks[chunk].mostLayers);
  }
  EXPECT_GT(possible, 300);
}

Topology mixed() {
  Result<Topology> topology = loadTopology("mixed-a100-h100");
  EXPECT_TRUE(topology.ok());
  return *topology;
}

TEST(StageDevices, OfTwoKindsOfDevices) {
  Decisions d;
  d.tp = 8;
  d.pp = 8;
  StageDevices stageDevices = devicesOfStages(d, mixed());
  EXPECT_EQ(stageDevices.kindOfStage, (std::vector<size_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  ASSERT_EQ(stageDevices.kinds.size(), 2u);
  EXPECT_NE(stageDevices.kinds[0].device.name.find("A100"), std::string::npos);
  EXPECT_NE(stageDevices.kinds[1].device.name.find("H100"), std::string::npos);
  EXPECT_EQ(stageDevices.kinds[0].numDevices(), 8);
  ASSERT_EQ(stageDevices.boundaries.size(), 7u);
  // The A100's adapters have less than 6,400 Gbit/s for the 8 ranks of a stage.
  EXPECT_LE(stageDevices.boundaries[3].bandwidth, stageDevices.boundaries[5].bandwidth);
  d.partOrder = 1;
  StageDevices reversed = devicesOfStages(d, mixed());
  EXPECT_NE(reversed.kinds[reversed.kindOfStage[0]].device.name.find("H100"), std::string::npos);
  EXPECT_EQ(ranksOfStage(d, mixed(), 0).front(), 56);
}

TEST(StageDevices, AreNotAskedOfHomogeneousDevices) {
  Decisions d;
  d.tp = 8;
  d.pp = 2;
  Result<Topology> topology = loadTopology("dgx-h100", 2);
  ASSERT_TRUE(topology.ok());
  EXPECT_TRUE(devicesOfStages(d, *topology).empty());
}

} // namespace
} // namespace dtc
