// Tests the search over plans that dtc compiles: it uses the memory of the programs themselves, and
// lowers few of them.
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/estimate/StepBounds.h"
#include "compiler/price/memory/ProgramMemory.h"
#include "compiler/price/memory/StaticMemory.h"
#include "compiler/price/workload/ApplyStack.h"
#include "compiler/price/workload/ModelFacts.h"
#include "compiler/search/planner/JointSearch.h"
#include "compiler/search/planner/MeshSpace.h"
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

// A model and a request for processes on one machine, in f32 by default.
struct Problem {
  Problem(ModuleOp module, int64_t layers, int64_t sequence, int64_t devices,
          Precision precision = Precision::F32, OptimizerKind optimizer = OptimizerKind::AdamW)
      : folded(foldLayers(module)), cells(folded), topology(*loadTopology("cpu", 0, devices)),
        programs(module, optimizer, precision) {
    limits.topologyName = topology.name;
    limits.devices = devices;
    limits.layers = layers;
    limits.sequence = sequence;
    limits.kvHeads = readModelFacts(module).kvHeads;
    limits.executable = true;
    request.topology = &topology;
    request.software = &ownStack(topology.device);
    request.precision = cellPrecision(precision, optimizer, *request.software);
    request.programs = &programs;
    options.devicesPerNode = topology.devicesPerNode;
  }

  SearchResult search() {
    Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
    EXPECT_TRUE(meshes.ok());
    return meshes ? searchJointly(cells, *meshes, limits, pins, request, options) : SearchResult();
  }

  // Costs every candidate with its own program: those that fit or, with `ignoreMemory`, all.
  SearchResult costEverything(bool ignoreMemory) {
    SearchOptions pruning = options;
    options.prune = false;
    options.ignoreMemory = ignoreMemory;
    options.keep = options.refined = size_t(1) << 30;
    SearchResult all = search();
    options = pruning;
    return all;
  }

  // Returns the cells without tensor parallelism.
  ModelCells applied() {
    return applyStack(*cells.get(1, false), *request.software, request.precision.compute);
  }

  FoldedModel folded;
  CellStore cells;
  Topology topology;
  ProgramMemory programs;
  SpaceLimits limits;
  Pins pins;
  EstimateRequest request;
  SearchOptions options;
};

// Recomputation is pinned: a plan whose layers recompute differently is not lowered before it is
// chosen.
TEST_F(ProgramSearchTest, AgreesWithLoweringEverything) {
  std::mt19937 random(3);
  auto pick = [&](std::initializer_list<int64_t> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
  };
  int feasible = 0, infeasible = 0, lowered = 0, all = 0;
  for (int64_t layers : {1, 2, 5}) {
    OwningOpRef<ModuleOp> module = layers % 2 ? smallUntied(context, layers, 64, 1024)
                                              : smallGpt2(context, layers, 64, 128, 256);
    for (int variant = 0; variant < 3; ++variant) {
      Problem problem(*module, layers, 64, pick({2, 4}));
      problem.limits.globalBatch = pick({8, 12, 64});
      problem.limits.searchesPlacements = variant % 2 == 0;
      problem.pins.fix(&Decisions::recompute, std::array{Recompute::None, Recompute::Selective,
                                                         Recompute::Full}[random() % 3]);
      problem.request.bucketSizes = {4 << 20, 32 << 20, kOneBucket};
      // Limits go from less than any plan needs to more than most need.
      problem.request.memoryLimit = 1;
      SearchResult whole = problem.costEverything(/*ignoreMemory=*/true);
      std::vector<double> needs;
      for (const Candidate &candidate : whole.ranked)
        needs.push_back(candidate.step.memoryNeed);
      llvm::sort(needs);
      ASSERT_FALSE(needs.empty());
      for (double limit : {0.7 * needs.front(), needs.front() * 1.0001, needs[needs.size() / 3]}) {
        problem.request.memoryLimit = limit;
        ProgramMemory programs(*module, OptimizerKind::AdamW);
        problem.request.programs = &programs;
        SearchResult found = problem.search();
        problem.request.programs = &problem.programs;
        SearchResult best = problem.costEverything(/*ignoreMemory=*/false);
        lowered += static_cast<int>(programs.numLowered());
        all += static_cast<int>(whole.ranked.size());
        ASSERT_EQ(found.ranked.empty(), best.ranked.empty())
            << layers << " layers, variant " << variant << ", " << limit << " bytes";
        if (best.ranked.empty()) {
          ++infeasible;
          ASSERT_TRUE(found.leastMemory);
          EXPECT_DOUBLE_EQ(found.leastMemory->step.memoryNeed * limit, needs.front());
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

// The bound holds for every size of buckets that the step is then costed with: small ones overlap,
// and one that holds all gradients does not.
TEST_F(ProgramSearchTest, MayFitWithTheBucketsThatItTakes) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 12, 64, 128, 256);
  Problem problem(*module, 12, 64, 4);
  EstimateRequest &request = problem.request;
  ModelCells applied = problem.applied();
  SearchedPlacements placements;
  const std::vector<int64_t> sizes{1 << 20, 4 << 20, kOneBucket};
  for (int64_t zero : {0, 1, 2, 3})
    for (int64_t microBatches : {1, 4}) {
      Decisions d;
      d.dp = 4;
      d.zero = zero;
      d.numMicroBatches = microBatches;
      ModelCost cost = costModel(applied, d, problem.topology, request.precision);
      cost.placements = &placements;
      // Only the best is good enough.
      auto needWith = [&](int64_t bucketBytes) {
        request.memoryLimit = 1;
        request.bucketSizes = {bucketBytes};
        return estimateStep(cost, d, request).stages.front().memory.total();
      };
      for (int64_t size : sizes) {
        request.memoryLimit = needWith(size);
        request.bucketSizes = sizes;
        EXPECT_TRUE(mayFit(cost, d, request)) << "zero " << zero << ", buckets of " << size;
      }
      request.memoryLimit *= 0.5;
      EXPECT_FALSE(mayFit(cost, d, request)) << "zero " << zero;
      // The plan fits into the memory of its best arena; arenas that are found first are up to 6 %
      // larger.
      request.memoryLimit = needWith(4 << 20);
      ProgramMemory anew(*module, OptimizerKind::AdamW);
      request.programs = &anew;
      EXPECT_TRUE(estimateStep(cost, d, request).fits) << "zero " << zero;
      request.programs = &problem.programs;
    }
}

// The memory that is always in use is no more than programs have, for all types and states.
TEST_F(ProgramSearchTest, MayFitInAnyPrecision) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 2, 16, 128, 8192);
  for (Precision precision : {Precision::F32, Precision::BF16, Precision::F16})
    for (OptimizerKind optimizer : {OptimizerKind::AdamW, OptimizerKind::Sgd, OptimizerKind::Lamb,
                                    OptimizerKind::Lars, OptimizerKind::Muon}) {
      Problem problem(*module, 2, 16, 4, precision, optimizer);
      ModelCells applied = problem.applied();
      SearchedPlacements placements;
      for (int64_t zero : {0, 1, 3}) {
        Decisions d;
        d.dp = 4;
        d.zero = zero;
        ModelCost cost = costModel(applied, d, problem.topology, problem.request.precision);
        cost.placements = &placements;
        problem.request.memoryLimit = 1;
        problem.request.memoryLimit =
            estimateStep(cost, d, problem.request).stages.front().memory.total();
        EXPECT_TRUE(mayFit(cost, d, problem.request))
            << nameOf(precision).str() << " " << nameOf(optimizer).str() << " " << zero;
      }
    }
}

// A gradient that is added to a sum takes memory beside it: on one device two samples at once need
// less than one after the other.
TEST_F(ProgramSearchTest, OneMicroBatchMayNeedLeast) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 1, 16, 128, 8192);
  Problem problem(*module, 1, 16, 1);
  problem.limits.globalBatch = 2;
  problem.request.memoryLimit = 1;
  SearchResult found = problem.search();
  ASSERT_TRUE(found.ranked.empty() && found.leastMemory);
  EXPECT_EQ(found.leastMemory->decisions.microBatch, 2);
}

// The first stage holds the tokens of a whole step, the last one its targets: programs of twice as
// many micro-batches need that much more.
TEST_F(ProgramSearchTest, StagesHoldWhatTheStepReads) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 6, 64, 128, 256);
  Problem problem(*module, 6, 64, 3);
  problem.request.memoryLimit = 1e12;
  problem.pins.fix(&Decisions::pp, 3);
  problem.pins.fix(&Decisions::microBatch, 2);
  problem.pins.fix(&Decisions::recompute, Recompute::None);
  problem.pins.fix(&Decisions::schedule, ScheduleKind::OneForwardOneBackward);
  std::vector<std::vector<double>> estimated, lowered;
  for (int64_t batch : {128, 256}) {
    problem.limits.globalBatch = batch;
    SearchResult found = problem.search();
    ASSERT_FALSE(found.ranked.empty());
    const Candidate &best = found.ranked.front();
    Plan plan = compiledPlan(best.decisions, OptimizerKind::AdamW);
    estimated.emplace_back();
    for (const StageEstimate &stage : best.step.stages) {
      estimated.back().push_back(stage.memory.total());
      PlanStage &each = plan.stages.emplace_back();
      each.chunks.assign(stage.chunks.begin(), stage.chunks.end());
      std::tie(each.firstLayer, each.lastLayer) = each.chunks.front();
    }
    ASSERT_TRUE(placeTensors(*module, plan, {}));
    std::optional<std::vector<StaticSize>> bytes = staticSizes(*module, plan);
    ASSERT_TRUE(bytes && bytes->size() == 3);
    lowered.emplace_back();
    for (const StaticSize &stage : *bytes)
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
