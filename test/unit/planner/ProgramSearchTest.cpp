// The search over what dtc compiles: with memory of the programs themselves, found where little is lowered.
#include "compiler/memory/ProgramMemory.h"
#include "compiler/planner/JointSearch.h"
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

} // namespace
} // namespace dtc
