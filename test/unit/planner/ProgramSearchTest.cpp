// The search over what dtc compiles: with memory of the programs themselves, found where little is lowered.
#include "compiler/memory/ProgramMemory.h"
#include "compiler/memory/StaticMemory.h"
#include "compiler/planner/JointSearch.h"
#include "compiler/workload/ApplyStack.h"
#include "passes/Pipelines.h"
#include "test/unit/estimate/OwnStack.h"
#include "test/unit/planner/SmallModels.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;

namespace dtc {
namespace {

class ProgramSearchTest : public testing::Test {
protected:
  ProgramSearchTest() : context(MLIRContext::Threading::DISABLED) { loadDialects(context); }

  MLIRContext context;
};

// Every candidate costed with its own program, of those that fit or, with `ignoreMemory`, all.
SearchResult costEverything(CellStore &cells, const std::vector<Decisions> &meshes,
                            const SpaceLimits &limits, const Pins &pins,
                            const EstimateRequest &request, SearchOptions options,
                            bool ignoreMemory) {
  options.prune = false;
  options.ignoreMemory = ignoreMemory;
  options.keep = options.refined = size_t(1) << 30;
  return searchJointly(cells, meshes, limits, pins, request, options);
}

// What is recomputed is pinned: of layers that recompute unlike each other no program is lowered before the plan is chosen.
TEST_F(ProgramSearchTest, AgreesWithLoweringEverything) {
  std::mt19937 random(3);
  auto pick = [&](std::initializer_list<int64_t> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
  };
  int feasible = 0, infeasible = 0, lowered = 0, all = 0;
  for (int64_t layers : {1, 2, 5}) {
    OwningOpRef<ModuleOp> module = layers % 2 ? smallUntied(context, layers, 64, 1024)
                                              : smallGpt2(context, layers, 64, 128, 256);
    FoldedModel folded = foldLayers(*module);
    CellStore cells(folded);
    for (int variant = 0; variant < 3; ++variant) {
      Result<Topology> topology = loadTopology("cpu", 0, pick({2, 4}));
      ASSERT_TRUE(topology.ok());
      SpaceLimits limits;
      limits.topologyName = topology->name;
      limits.devices = topology->numDevices();
      limits.globalBatch = pick({8, 12, 64});
      limits.layers = layers;
      limits.sequence = 64;
      limits.kvHeads = readModelFacts(*module).kvHeads;
      limits.executable = true;
      limits.searchesPlacements = variant % 2 == 0;
      Pins pins;
      pins.recompute =
          std::array{Recompute::None, Recompute::Selective, Recompute::Full}[random() % 3];
      EstimateRequest request;
      request.topology = &*topology;
      request.software = &ownStack(topology->device);
      request.precision = cellPrecision("f32", "adamw", *request.software);
      request.bucketSizes = {4 << 20, 32 << 20, kOneBucket};
      Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
      ASSERT_TRUE(meshes.ok());
      SearchOptions options;
      options.devicesPerNode = topology->devicesPerNode;
      // From less than any needs to more than most do.
      request.memoryLimit = 1;
      ProgramMemory known(*module, "adamw");
      request.programs = &known;
      SearchResult whole = costEverything(cells, *meshes, limits, pins, request, options,
                                          /*ignoreMemory=*/true);
      std::vector<double> needs;
      for (const Candidate &candidate : whole.ranked)
        needs.push_back(candidate.step.memoryNeed);
      llvm::sort(needs);
      ASSERT_FALSE(needs.empty());
      for (double limit : {0.7 * needs.front(), needs.front() * 1.0001, needs[needs.size() / 3]}) {
        request.memoryLimit = limit;
        ProgramMemory programs(*module, "adamw");
        request.programs = &programs;
        SearchResult found = searchJointly(cells, *meshes, limits, pins, request, options);
        request.programs = &known;
        SearchResult best = costEverything(cells, *meshes, limits, pins, request, options,
                                           /*ignoreMemory=*/false);
        lowered += static_cast<int>(programs.numLowered());
        all += static_cast<int>(whole.ranked.size());
        ASSERT_EQ(found.ranked.empty(), best.ranked.empty())
            << layers << " layers, variant " << variant << ", " << limit << " bytes";
        if (best.ranked.empty()) {
          ++infeasible;
          ASSERT_TRUE(found.leanest);
          EXPECT_DOUBLE_EQ(found.leanest->step.memoryNeed * limit, needs.front());
          continue;
        }
        ++feasible;
        EXPECT_EQ(found.ranked.front().score(), best.ranked.front().score())
            << layers << " layers, variant " << variant << ", " << limit << " bytes";
      }
    }
  }
  EXPECT_GE(feasible, 15);
  EXPECT_GE(infeasible, 8);
  EXPECT_LT(lowered, all / 4);
}

// Whatever size of buckets the step is then costed with: small ones overlap, and one that holds all gradients does not.
TEST_F(ProgramSearchTest, MayFitWithTheBucketsThatItTakes) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 12, 64, 128, 256);
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  Result<Topology> topology = loadTopology("cpu", 0, 4);
  ASSERT_TRUE(topology.ok());
  ProgramMemory programs(*module, "adamw");
  EstimateRequest request;
  request.topology = &*topology;
  request.software = &ownStack(topology->device);
  request.precision = cellPrecision("f32", "adamw", *request.software);
  request.programs = &programs;
  ModelCells applied =
      applyStack(*cells.get(1, false), *request.software, request.precision.compute);
  SearchedPlacements placements;
  const std::vector<int64_t> sizes{1 << 20, 4 << 20, kOneBucket};
  for (int64_t zero : {0, 1, 2, 3})
    for (int64_t microBatches : {1, 4}) {
      Decisions d;
      d.dp = 4;
      d.zero = zero;
      d.numMicroBatches = microBatches;
      ModelCost cost = costModel(applied, d, *topology, request.precision);
      cost.placements = &placements;
      for (int64_t size : sizes) {
        request.memoryLimit = 1; // nothing is good enough but the best
        request.bucketSizes = {size};
        request.memoryLimit = estimateStep(cost, d, request).stages.front().memory.total();
        request.bucketSizes = sizes;
        EXPECT_TRUE(mayFit(cost, d, request)) << "zero " << zero << ", buckets of " << size;
      }
      request.memoryLimit *= 0.5;
      EXPECT_FALSE(mayFit(cost, d, request)) << "zero " << zero;
      // With all the memory that its best arena needs it fits; arenas that come first are up to 6 % larger.
      request.bucketSizes = {4 << 20};
      request.memoryLimit = 1;
      request.memoryLimit = estimateStep(cost, d, request).stages.front().memory.total();
      ProgramMemory anew(*module, "adamw");
      request.programs = &anew;
      EXPECT_TRUE(estimateStep(cost, d, request).fits) << "zero " << zero;
      request.programs = &programs;
    }
}

// A gradient that is added to a sum is there beside it: on one device two samples at once need less than one after the other.
TEST_F(ProgramSearchTest, OneMicroBatchMayNeedLeast) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 1, 16, 128, 8192);
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  Result<Topology> topology = loadTopology("cpu", 0, 1);
  ASSERT_TRUE(topology.ok());
  ProgramMemory programs(*module, "adamw");
  EstimateRequest request;
  request.topology = &*topology;
  request.software = &ownStack(topology->device);
  request.precision = cellPrecision("f32", "adamw", *request.software);
  request.memoryLimit = 1;
  request.programs = &programs;
  SpaceLimits limits;
  limits.topologyName = topology->name;
  limits.globalBatch = 2;
  limits.sequence = 16;
  limits.executable = true;
  Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, Pins());
  ASSERT_TRUE(meshes.ok());
  SearchResult found = searchJointly(cells, *meshes, limits, Pins(), request, SearchOptions());
  ASSERT_TRUE(found.ranked.empty() && found.leanest);
  EXPECT_EQ(found.leanest->decisions.microBatch, 2);
}

// The first stage the tokens of all of a step, the last one its targets: what programs of twice as many micro-batches need more.
TEST_F(ProgramSearchTest, StagesHoldWhatTheStepReads) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 6, 64, 128, 256);
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  Result<Topology> topology = loadTopology("cpu", 0, 3);
  ASSERT_TRUE(topology.ok());
  ProgramMemory programs(*module, "adamw");
  EstimateRequest request;
  request.topology = &*topology;
  request.software = &ownStack(topology->device);
  request.precision = cellPrecision("f32", "adamw", *request.software);
  request.memoryLimit = 1e12;
  request.programs = &programs;
  SpaceLimits limits;
  limits.topologyName = topology->name;
  limits.devices = 3;
  limits.layers = 6;
  limits.sequence = 64;
  limits.executable = true;
  Pins pins;
  pins.pp = 3;
  pins.microBatch = 2;
  pins.recompute = Recompute::None;
  pins.schedule = ScheduleKind::OneForwardOneBackward;
  std::vector<std::vector<double>> estimated, lowered;
  for (int64_t batch : {128, 256}) {
    limits.globalBatch = batch;
    Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
    ASSERT_TRUE(meshes.ok());
    SearchResult found = searchJointly(cells, *meshes, limits, pins, request, SearchOptions());
    ASSERT_FALSE(found.ranked.empty());
    const Candidate &best = found.ranked.front();
    Plan plan = compiledPlan(best.decisions, "adamw");
    estimated.emplace_back();
    for (const StageEstimate &stage : best.step.stages) {
      estimated.back().push_back(stage.memory.total());
      PlanStage &each = plan.stages.emplace_back();
      each.chunks.assign(stage.chunks.begin(), stage.chunks.end());
      std::tie(each.firstLayer, each.lastLayer) = each.chunks.front();
    }
    ASSERT_TRUE(placeTensors(*module, plan, {}));
    std::optional<std::vector<StaticBytes>> bytes = staticMemoryBytes(*module, plan);
    ASSERT_TRUE(bytes && bytes->size() == 3);
    lowered.emplace_back();
    for (const StaticBytes &stage : *bytes)
      lowered.back().push_back(static_cast<double>(stage.device));
  }
  constexpr double ofInputs = 128 * 64 * 4; // samples, tokens, bytes
  for (size_t stage = 0; stage < 3; ++stage) {
    EXPECT_EQ(lowered[1][stage] - lowered[0][stage], stage == 1 ? 0 : ofInputs);
    EXPECT_NEAR(estimated[1][stage] - estimated[0][stage], stage == 1 ? 0 : ofInputs, 1);
  }
}

} // namespace
} // namespace dtc
