// Tests the report of a search: its bound, whether the bound is a proof, and the smallest memory.
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/search/planner/DescribePlan.h"
#include "compiler/search/planner/JointSearch.h"
#include "compiler/search/planner/Simplicity.h"

#include "compiler/describe/frontend/Frontend.h"
#include "compiler/search/planner/MeshSpace.h"
#include "models/Gpt2.h"
#include "passes/Pipelines.h"
#include "test/unit/estimate/OwnStack.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

namespace dtc {
namespace {

// GPT-2 of four small layers on four H100.
class SearchRun : public testing::Test {
protected:
  SearchRun() : context(mlir::MLIRContext::Threading::DISABLED) {
    loadDialects(context);
    Gpt2Config config;
    config.vocabulary = 512;
    config.positions = 1024;
    config.width = 256;
    config.layers = 4;
    config.heads = 4;
    module = completed(buildGpt2(&context, config, 1024));
    folded = foldLayers(*module);
    cells.emplace(folded);
    topology = *loadTopology("dgx-h100", 1, 4);
    software = ownStack(topology.device);
    limits.topologyName = topology.name;
    limits.devices = limits.globalBatch = limits.layers = 4;
    limits.sequence = 1024;
    request.topology = &topology;
    request.software = &software;
    request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, software);
    request.memoryLimit = 80e9;
    options.devicesPerNode = 4;
  }

  SearchResult search() {
    Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
    EXPECT_TRUE(meshes.ok());
    return searchJointly(*cells, *meshes, limits, pins, request, options);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  FoldedModel folded;
  std::optional<CellStore> cells;
  Topology topology;
  SoftwareStack software;
  SpaceLimits limits;
  Pins pins;
  EstimateRequest request;
  SearchOptions options;
};

// Only the expert templates are costed if there is no work or time. That is no proof: the bound is
// that of the meshes that were skipped, and is not above the plan that a whole search finds.
TEST_F(SearchRun, ClaimsNoMoreThanItsLimitsLeftToKnow) {
  pins.fix(&Decisions::zero, 2); // not in a template
  SearchResult whole = search();
  ASSERT_TRUE(whole.complete());
  double fastest = whole.ranked.front().step.stepSeconds;
  EXPECT_LE(whole.lowerBound, fastest);
  options.fasterThan = 2 * fastest; // a plan that is known already
  for (SearchEnd end : {SearchEnd::Work, SearchEnd::Seconds}) {
    options.work = end == SearchEnd::Work ? -1 : kSearchWork;
    options.seconds = end == SearchEnd::Work ? 60 : -1;
    SearchResult stopped = search();
    EXPECT_EQ(stopped.end, end);
    EXPECT_TRUE(stopped.ranked.empty());
    EXPECT_LE(stopped.lowerBound, fastest);
    EXPECT_GT(stopped.lowerBound, 0);
  }
}

// Two searches that end after half of the work find the same plan, whatever time they take.
TEST_F(SearchRun, IsTheSameAfterAsMuchWork) {
  int64_t least = 0, most = 1 << 20; // work that is not enough, and work that is
  while (most - least > 1) {
    options.work = (least + most) / 2;
    (search().complete() ? most : least) = options.work;
  }
  EXPECT_GT(most, 20);
  options.work = most / 2;
  SearchResult once = search(), twice = search();
  EXPECT_EQ(once.end, SearchEnd::Work);
  EXPECT_EQ(once.costed, twice.costed);
  EXPECT_EQ(once.lowerBound, twice.lowerBound);
  ASSERT_EQ(once.ranked.size(), twice.ranked.size());
  for (auto [a, b] : llvm::zip_equal(once.ranked, twice.ranked))
    EXPECT_EQ(a.decisions, b.decisions);
}

// The fastest plan does not fit, and the next one, less than kLossOfNotFitting slower, is chosen.
// The bound is in seconds all the same, also if the fastest is not among the plans that are kept.
TEST_F(SearchRun, BoundsSecondsWhereASlowerPlanIsChosen) {
  SearchResult whole = search();
  double fastest = whole.ranked.front().step.stepSeconds;
  options.keep = options.refined = 1;
  options.fitProbability = [=](const StepEstimate &step) {
    return step.stepSeconds > fastest ? 1.0 : 0.0;
  };
  SearchResult found = search();
  ASSERT_EQ(found.ranked.size(), 1u);
  EXPECT_GT(found.ranked.front().step.stepSeconds, fastest);
  EXPECT_LE(found.lowerBound, fastest);
}

// Software may require that all layers recompute the same, and a search may have no time: the
// smallest memory is searched all the same, and recomputes everything.
TEST_F(SearchRun, NamesTheSmallestOfSoftwareThatMixesNothing) {
  limits.space = loadStack("torchtitan")->space;
  request.memoryLimit = 1;
  options.seconds = -1;
  SearchResult found = search();
  ASSERT_TRUE(found.ranked.empty() && found.leastMemory);
  options.seconds = 60;
  options.prune = false;
  options.ignoreMemory = true;
  options.keep = options.refined = size_t(1) << 30;
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate &candidate : search().ranked)
    least = std::min(least, candidate.step.memoryNeed);
  EXPECT_EQ(found.leastMemory->step.memoryNeed, least);
  EXPECT_EQ(found.leastMemory->decisions.recompute, Recompute::Full);
}

// Returns the simplest of the candidates within `share` of the least score, without ZeRO in groups.
Simplicity simplestOf(const SearchResult &found, double share) {
  Simplicity simplest{1 << 20};
  for (const Candidate &candidate : found.ranked)
    if (candidate.step.isRefined && candidate.decisions.zeroGroup == 0 &&
        candidate.score() <= found.ranked.front().score() * (1 + share)) {
      Decisions d = decisionsOf(candidate);
      simplest = std::min(
          simplest, {complexityOf(d), std::llround(candidate.step.peakBytes), candidate.score()});
    }
  return simplest;
}

// The search finds the simplest of all plans that tie, as costing everything does. It misses that
// plan if it does not look for ties, as plans that are not faster than the best so far are not
// costed.
TEST_F(SearchRun, HasTheSimplestOfAllThatTie) {
  int missed = 0, simpler = 0;
  for (int64_t batch : {4, 8, 32})
    for (int64_t devices : {4, 8}) {
      topology = *loadTopology("dgx-h100", 1, devices);
      limits.devices = devices;
      limits.globalBatch = batch;
      options = SearchOptions();
      options.devicesPerNode = devices;
      options.prune = false;
      options.keep = options.refined = size_t(1) << 30;
      SearchResult all = search();
      options = SearchOptions();
      options.devicesPerNode = devices;
      SearchResult fast = search();
      for (double share : {0.01, 0.05, 0.3, 1.0, 3.0}) {
        options.tie = share;
        SearchResult found = search();
        EXPECT_EQ(found.lowerBound, fast.lowerBound);
        EXPECT_EQ(found.ranked.front().score(), all.ranked.front().score());
        Simplicity wanted = simplestOf(all, share), got = simplestOf(found, share);
        EXPECT_EQ(got, wanted) << batch << " samples on " << devices << " devices, ties within "
                               << share << ": " << got.complexity << " for " << wanted.complexity;
        missed += simplestOf(fast, share) != wanted;
        simpler += wanted.complexity < complexityOf(decisionsOf(all.ranked.front()));
      }
    }
  EXPECT_GE(missed, 3);
  EXPECT_GE(simpler, 3);
}

} // namespace
} // namespace dtc
