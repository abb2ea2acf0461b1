// Tests outlines of steps: repeated layers, collectives beside compute.
#include "compiler/price/memory/StepOutline.h"
#include "compiler/price/memory/RepeatLayer.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

constexpr auto kActivation = exec::BufferKind::Activation;
constexpr auto kGradient = exec::BufferKind::Gradient;

StepOutline::Collective reduction(int64_t time, int buffer, int64_t neededAt) {
  StepOutline::Collective collective;
  collective.kind = exec::CollectiveKind::AllReduce;
  collective.key = "sum";
  collective.isMember = collective.movesSource = collective.movesDestination = true;
  collective.bucketBytes = collective.partBytes = 64;
  collective.ranks = 1;
  collective.time = collective.packedAt = time;
  collective.src = collective.dst = buffer;
  collective.neededAt = neededAt;
  return collective;
}

// Forward L0 L1 L2 is at 0, 2 and 4, with two instructions each; backward L2 L1 L0 is at 6, 8 and
// 10.
const LayerRun kForward{2, 4, false}, kBackward{8, 10, true};

TEST(RepeatMiddleLayer, GivesEachLayerItsOwnBuffers) {
  StepOutline outline;
  outline.length = 12;
  outline.buffers = {{64, 1, 10, kActivation}, // kept by L0
                     {64, 3, 8, kActivation},  // kept by L1
                     {64, 5, 6, kActivation}}; // kept by L2
  StepOutline longer = repeatMiddleLayer(outline, {kForward, kBackward}, 1);
  EXPECT_EQ(longer.length, 16);
  // The new order is L0 0, L1 2, L1' 4, L2 6, L2 8, L1' 10, L1 12, L0 14.
  ASSERT_EQ(longer.buffers.size(), 4u);
  std::vector<std::pair<int64_t, int64_t>> lives;
  for (const StepOutline::Buffer &buffer : longer.buffers)
    lives.push_back({buffer.begin, buffer.end});
  std::vector<std::pair<int64_t, int64_t>> wanted = {{1, 14}, {3, 12}, {5, 10}, {7, 8}};
  EXPECT_EQ(lives, wanted);
}

TEST(RepeatMiddleLayer, HandsOnFromLayerToLayer) {
  StepOutline outline;
  outline.length = 12;
  outline.buffers = {{64, 1, 2, kActivation},   // L0's result
                     {64, 3, 4, kActivation},   // L1's
                     {64, 7, 8, kActivation},   // gradient of L2's input
                     {64, 9, 10, kActivation},  // gradient of L1's input
                     {64, 0, 11, kActivation}}; // read by all
  StepOutline longer = repeatMiddleLayer(outline, {kForward, kBackward}, 1);
  std::vector<std::pair<int64_t, int64_t>> lives;
  for (const StepOutline::Buffer &buffer : longer.buffers)
    lives.push_back({buffer.begin, buffer.end});
  std::vector<std::pair<int64_t, int64_t>> wanted = {{1, 2},   {3, 4},   {5, 6}, {9, 10},
                                                     {13, 14}, {11, 12}, {0, 15}};
  EXPECT_EQ(lives, wanted);
}

TEST(RepeatMiddleLayer, RepeatsCollectivesInOrder) {
  StepOutline outline;
  outline.length = 12;
  outline.buffers = {{64, 7, 11, kGradient}, {64, 9, 11, kGradient}, {64, 11, 11, kGradient}};
  outline.collectives = {reduction(7, 0, 12), reduction(9, 1, 12), reduction(11, 2, 12)};
  StepOutline longer = repeatMiddleLayer(outline, {kForward, kBackward}, 2);
  std::vector<int64_t> times;
  for (const StepOutline::Collective &collective : longer.collectives) {
    times.push_back(collective.time);
    EXPECT_EQ(longer.buffers[static_cast<size_t>(collective.src)].begin, collective.time);
    EXPECT_EQ(collective.neededAt, 20);
  }
  EXPECT_EQ(times, (std::vector<int64_t>{11, 13, 15, 17, 19}));
}

// The gradients of a bucket are one buffer, from the first use of any to the last.
TEST(RunCollectivesAside, JoinsGradientsOfABucket) {
  StepOutline outline;
  outline.length = 10;
  outline.buffers = {{64, 1, 8, kGradient}, {64, 3, 9, kGradient}, {64, 5, 9, kGradient}};
  outline.collectives = {reduction(2, 0, 8), reduction(4, 1, 8), reduction(6, 2, 8)};
  runCollectivesAside(outline, /*bucketBytes=*/128, /*inFlight=*/4);
  ASSERT_EQ(outline.buffers.size(), 2u);
  EXPECT_EQ(outline.buffers[0].bytes, 64); // only the third one
  EXPECT_EQ(outline.buffers[1].bytes, 128);
  EXPECT_EQ(outline.buffers[1].begin, 1);
  EXPECT_EQ(outline.buffers[1].end, 9);
}

// An op that needs the result closes the bucket.
TEST(RunCollectivesAside, DelaysNoCollectivePastItsUse) {
  StepOutline outline;
  outline.length = 10;
  outline.buffers = {{64, 1, 3, kGradient}, {64, 5, 9, kGradient}};
  outline.collectives = {reduction(2, 0, 3), reduction(6, 1, 8)};
  runCollectivesAside(outline, /*bucketBytes=*/1024, /*inFlight=*/4);
  ASSERT_EQ(outline.buffers.size(), 2u);
  EXPECT_EQ(outline.buffers[0].end, 3);
}

// Before it sends the next, compute waits for the collective two back: buffers of the first end at
// the third, those of the last two at the end.
TEST(RunCollectivesAside, KeepsFewBuffersUnderWay) {
  StepOutline outline;
  outline.length = 10;
  for (int i = 0; i < 3; ++i) {
    outline.buffers.push_back({64, 2 * i, 2 * i + 1, exec::BufferKind::Communication});
    outline.collectives.push_back(reduction(2 * i + 1, i, 10));
    outline.collectives.back().isMember = false;
  }
  runCollectivesAside(outline, /*bucketBytes=*/0, /*inFlight=*/2);
  std::vector<int64_t> ends;
  for (const StepOutline::Buffer &buffer : outline.buffers)
    ends.push_back(buffer.end);
  EXPECT_EQ(ends, (std::vector<int64_t>{5, 10, 10}));
}

// Another reduction reads scattered gradients (two parts of 64 bytes each), which would end the
// bucket of the first at once. The reductions of parts are merged first, and the merged scatter
// writes where they read.
TEST(RunCollectivesAside, MergesWhatReducesScatteredFirst) {
  StepOutline outline;
  outline.length = 12;
  for (int i = 0; i < 2; ++i) {
    int64_t scattered = 2 + 3 * i; // then reduced
    outline.buffers.push_back({128, scattered - 1, scattered, exec::BufferKind::Communication});
    outline.buffers.push_back({64, scattered, 9 + i, kGradient});
    StepOutline::Collective scatter = reduction(scattered, 2 * i, scattered + 1);
    scatter.kind = exec::CollectiveKind::ReduceScatter;
    scatter.key = "scatter";
    scatter.dst = 2 * i + 1;
    scatter.ranks = 2;
    scatter.packedAt = scattered - 1;
    outline.collectives.push_back(scatter);
    outline.collectives.push_back(reduction(scattered + 1, 2 * i + 1, 9));
    outline.collectives.back().reducesScattered = true;
  }
  runCollectivesAside(outline, /*bucketBytes=*/1024, /*inFlight=*/4);
  ASSERT_EQ(outline.buffers.size(), 2u);
  EXPECT_EQ(outline.buffers[0].bytes, 128); // buffer of the sums
  EXPECT_EQ(outline.buffers[0].begin, 2);
  EXPECT_EQ(outline.buffers[0].end, 10);
  EXPECT_EQ(outline.buffers[1].bytes, 256); // buffer of the scattered parts
  EXPECT_EQ(outline.buffers[1].begin, 1);
  EXPECT_EQ(outline.buffers[1].end, 9); // compute waits for the sums
}

TEST(PlannedBytes, AddsWhatIsLiveWhenMostIs) {
  StepOutline outline;
  outline.length = 4;
  outline.persistent[static_cast<size_t>(exec::BufferKind::Parameter)] = 128;
  outline.buffers = {{100, 0, 1, kActivation}, {64, 1, 2, kGradient}, {64, 2, 3, kGradient}};
  BytesByKind bytes = plannedBytes(outline);
  EXPECT_EQ(bytes[static_cast<size_t>(exec::BufferKind::Parameter)], 128);
  EXPECT_EQ(bytes[static_cast<size_t>(kActivation)], 128); // rounded to the alignment of buffers
  EXPECT_EQ(bytes[static_cast<size_t>(kGradient)], 64);
}

} // namespace
} // namespace dtc
