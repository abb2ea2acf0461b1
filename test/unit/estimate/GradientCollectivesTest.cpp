// Tests the exposed time of gradient buckets, and the planner's choice of the best size.
#include "compiler/price/estimate/GradientCollectives.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/CollectiveCost.h"

#include "compiler/describe/frontend/Frontend.h"
#include "compiler/price/estimate/ModelCost.h"
#include "compiler/search/planner/JointSearch.h"
#include "compiler/search/planner/MeshSpace.h"
#include "models/Gpt2.h"
#include "passes/Pipelines.h"
#include "test/unit/estimate/OwnStack.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <set>

using namespace mlir;

namespace dtc {
namespace {

TEST(ExposedSeconds, AreOfTheLastBucketAtLeast) {
  EXPECT_DOUBLE_EQ(exposedSeconds({4, 1, 4}, 2), 2.5);
  EXPECT_DOUBLE_EQ(exposedSeconds({4, 1, 4}, 8), 1);
  EXPECT_DOUBLE_EQ(exposedSeconds({4, 4, 1}, 8), 4); // One bucket is ready when the pass is over.
  EXPECT_DOUBLE_EQ(exposedSeconds({}, 8), 0);
}

// Gradients of 64 MB in buckets of 16 MB between 8 ranks.
TEST(ReductionIn, SendsWholeBuckets) {
  Result<Topology> topology = loadTopology("dgx-h100");
  ASSERT_TRUE(topology.ok());
  AxisGroups groups;
  groups.dense = {{8, 1}};
  groups.expert = {{1, 1}};
  GradientCollectives collectives =
      gradientCollectivesOf(16'000'000, 16e6, 1e6, 1, {groups, {}}, *topology, CellPrecision());
  double each = collectiveSeconds(CollectiveKind::ReduceScatter, 16e6, {{8, 1}}, *topology);
  EXPECT_EQ(collectives.reduce.count, 4);
  EXPECT_DOUBLE_EQ(collectives.reduce.last, each);
  EXPECT_DOUBLE_EQ(collectives.reduce.all, 4 * each);
  EXPECT_EQ(collectives.gather.count, 4);
  EXPECT_EQ(gradientCollectivesOf(kOneBucket, 16e6, 0, 0, {groups, {}}, *topology, CellPrecision())
                .reduce.count,
            1);
}

// If ZeRO shards among 4 of 8 ranks, these collectives parts, and each rank's part is reduced
// between the groups.
TEST(ReductionIn, AddsUpPartsBetweenGroups) {
  Result<Topology> topology = loadTopology("dgx-h100");
  ASSERT_TRUE(topology.ok());
  AxisGroups groups;
  groups.dense = {{8, 1}};
  groups.expert = {{1, 1}};
  Decisions decisions;
  decisions.dp = 8;
  decisions.zero = 3;
  decisions.zeroGroup = 4;
  auto seconds = [&](CollectiveKind kind, double bytes, RankGroup group) {
    return collectiveSeconds(kind, bytes, group, *topology);
  };
  double across = seconds(CollectiveKind::AllReduce, 16e6, {{2, 4}});
  // The micro-batches of ZeRO-3 have scattered and gathered the rest.
  GradientCollectives collectives = gradientCollectivesOf(
      kOneBucket, 16e6, 0, 3, {groups, decisions}, *topology, CellPrecision());
  EXPECT_DOUBLE_EQ(collectives.reduce.all, across);
  EXPECT_EQ(collectives.gather.count, 0);
  decisions.zero = 1;
  collectives = gradientCollectivesOf(kOneBucket, 16e6, 0, 1, {groups, decisions}, *topology,
                                      CellPrecision());
  EXPECT_DOUBLE_EQ(collectives.reduce.all,
                   seconds(CollectiveKind::ReduceScatter, 64e6, {{4, 1}}) + across);
  EXPECT_DOUBLE_EQ(collectives.gather.all, seconds(CollectiveKind::AllGather, 64e6, {{4, 1}}));
}

// Folded experts on ep = 2 of tp = 2 are among the 4 ranks of dp. With a group of 2 of these,
// copies are 2 ranks of dp apart, as for all other parameters.
TEST(ShardGroups, HaveTensorRanksOfFoldedExperts) {
  Result<Topology> topology = loadTopology("dgx-h100");
  ASSERT_TRUE(topology.ok());
  Decisions d;
  d.tp = 2;
  d.dp = 4;
  d.zero = 1;
  d.sequenceParallel = d.foldedExperts = true;
  auto reduceOf = [&](double dense, double expert) {
    return gradientCollectivesOf(kOneBucket, dense, expert, 1, {groupsOf(d), d}, *topology,
                                 CellPrecision())
        .reduce.all;
  };
  auto seconds = [&](CollectiveKind kind, double bytes, RankGroup group) {
    return collectiveSeconds(kind, bytes, group, *topology);
  };
  EXPECT_DOUBLE_EQ(reduceOf(0, 16e6),
                   seconds(CollectiveKind::ReduceScatter, 64e6, {{2, 1}, {4, 2}}));
  d.ep = 2;
  EXPECT_DOUBLE_EQ(reduceOf(0, 16e6), seconds(CollectiveKind::ReduceScatter, 64e6, {{4, 2}}));
  d.zeroGroup = 2;
  EXPECT_DOUBLE_EQ(reduceOf(0, 16e6), seconds(CollectiveKind::ReduceScatter, 64e6, {{2, 2}}) +
                                          seconds(CollectiveKind::AllReduce, 32e6, {{2, 4}}));
  d.ep = 1; // 2 x 2 ranks of a group
  EXPECT_DOUBLE_EQ(reduceOf(0, 16e6),
                   seconds(CollectiveKind::ReduceScatter, 64e6, {{2, 1}, {2, 2}}) +
                       seconds(CollectiveKind::AllReduce, 16e6, {{2, 4}}));
}

// 320 MB between 8 ranks are two of Megatron-Core's buckets. The time that the passes can hide does
// not end with the last bucket.
TEST(ReductionIn, MakesTheBucketsOfTheStack) {
  Result<Topology> topology = loadTopology("dgx-h100");
  ASSERT_TRUE(topology.ok());
  AxisGroups groups;
  groups.dense = {{8, 1}};
  groups.expert = {{1, 1}};
  BucketSeconds reduce =
      gradientCollectivesOf(kStackBuckets, 80e6, 1e6, 0, {groups, {}}, *topology, CellPrecision())
          .reduce;
  double each = collectiveSeconds(CollectiveKind::AllReduce, 160e6, {{8, 1}}, *topology);
  EXPECT_DOUBLE_EQ(reduce.all, 2 * each);
  EXPECT_DOUBLE_EQ(exposedSeconds(reduce, 0.5 * each), 1.5 * each);
  EXPECT_DOUBLE_EQ(exposedSeconds(reduce, 3 * each), 0);
}

// The planner's result over all sizes is the best of its results with each size alone; it is not
// always the smallest size, the largest or one fixed size.
TEST(GradientBuckets, AreTheBestOfAllSizes) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Gpt2Config config;
  config.vocabulary = 8192;
  config.positions = 512;
  config.width = 1024;
  config.layers = 8;
  config.heads = 8;
  OwningOpRef<ModuleOp> module = completed(buildGpt2(&context, config, 512));
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  std::set<int64_t> chosen;
  int cases = 0;
  for (const char *name : {"dgx-h100", "dgx-a100-80g", "p3.16xlarge"})
    for (int64_t nodes : {1, 2, 8})
      for (int64_t zero : {0, 1}) {
        Result<Topology> topology = loadTopology(name, nodes, 0);
        ASSERT_TRUE(topology.ok());
        SpaceLimits limits;
        limits.devices = topology->numDevices();
        limits.globalBatch = 2 * limits.devices;
        limits.layers = 8;
        limits.sequence = 512;
        Pins pins;
        pins.fix(&Decisions::zero, zero);
        pins.fix(&Decisions::tp, 1);
        pins.fix(&Decisions::cp, 1);
        EstimateRequest request;
        request.topology = &*topology;
        request.software = &ownStack(topology->device);
        request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, *request.software);
        request.memoryLimit = 80e9;
        Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
        ASSERT_TRUE(meshes.ok());
        auto best = [&](std::vector<int64_t> sizes, bool prune) {
          request.bucketSizes = std::move(sizes);
          SearchOptions options;
          options.devicesPerNode = 8;
          options.prune = prune;
          if (!prune)
            options.keep = options.refined = size_t(1) << 30;
          return searchJointly(cells, *meshes, limits, pins, request, options).ranked.front().step;
        };
        double least = std::numeric_limits<double>::infinity();
        for (int64_t size : bucketSizes())
          least = std::min(least, best({size}, false).stepSeconds);
        StepEstimate found = best(bucketSizes().vec(), true);
        EXPECT_EQ(found.stepSeconds, least) << name << " " << nodes << " " << zero;
        chosen.insert(found.bucketBytes);
        ++cases;
      }
  EXPECT_EQ(cases, 18);
  EXPECT_GE(chosen.size(), 2u);
}

// A stack may reduce all gradients of a pipeline at its end, and without a pipeline those of some
// stages of ZeRO; all others have the usual choice.
TEST(GradientBuckets, AreOneWhereTheStackReducesLast) {
  EstimateRequest request;
  request.bucketSizes = {1 << 20, 1 << 22};
  Decisions d;
  for (d.pp = 1; d.pp <= 2; ++d.pp)
    for (d.zero = 0; d.zero <= 3; ++d.zero)
      EXPECT_EQ(request.bucketSizesOf(d), request.bucketSizes);
  request.zeroThatReducesLast = 0b0010;
  const std::vector<int64_t> one{kOneBucket};
  for (d.pp = 1; d.pp <= 2; ++d.pp)
    for (d.zero = 0; d.zero <= 3; ++d.zero)
      EXPECT_EQ(request.bucketSizesOf(d), d.pp == 1 && d.zero == 1 ? one : request.bucketSizes);
  request.bucketSizesOfPipelines = one;
  d.pp = 2;
  d.zero = 3;
  EXPECT_EQ(request.bucketSizesOf(d), one);
}

} // namespace
} // namespace dtc
