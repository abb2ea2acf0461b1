// Compares orders of device groups, and the search over them, with all permutations.
#include "compiler/price/estimate/PartOrders.h"
#include "compiler/describe/topology/LoadTopology.h"

#include "compiler/describe/frontend/Frontend.h"
#include "compiler/search/planner/DetailSpace.h"
#include "compiler/search/planner/JointSearch.h"
#include "compiler/search/planner/MeshSpace.h"
#include "models/Gpt2.h"
#include "passes/Pipelines.h"
#include "test/unit/estimate/AppliedCells.h"
#include "test/unit/planner/CertifiedStack.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <set>

using namespace mlir;

namespace dtc {
namespace {

// Returns groups of these many devices; each next one is slower and has more memory.
std::vector<DeviceGroup> groupsOf(std::vector<int64_t> sizes) {
  std::vector<DeviceGroup> groups;
  int64_t first = 0;
  for (int64_t size : sizes) {
    DeviceGroup group;
    group.firstDevice = first;
    group.numDevices = size;
    group.device.peakFlops[0] = 1e15 / static_cast<double>(groups.size() + 1);
    group.device.memoryBytes = int64_t(1 + groups.size()) << 30;
    first += size;
    groups.push_back(group);
  }
  return groups;
}

TEST(PartOrders, AreAllPermutationsOfFewGroups) {
  std::vector<StageStarts> orders = partOrders(groupsOf({8, 8, 16}), 8);
  EXPECT_EQ(orders[0], (StageStarts{0, 8, 16, 24}));
  EXPECT_EQ(orders[1], (StageStarts{24, 16, 8, 0}));
  EXPECT_EQ(orders.size(), 6u);
  std::set<StageStarts> distinct(orders.begin(), orders.end());
  EXPECT_EQ(distinct.size(), 6u);
  EXPECT_TRUE(distinct.count({16, 24, 0, 8}));
  EXPECT_EQ(partOrders(groupsOf({8, 8, 8, 8}), 4).size(), 24u);
}

// A stage over two groups needs them side by side.
TEST(PartOrders, KeepNeighboursWhereAStageSpansGroups) {
  EXPECT_EQ(partOrders(groupsOf({8, 16}), 12), (std::vector<StageStarts>{{0, 12}, {12, 0}}));
}

// Only the orders by speed and by memory are tried for five kinds, which are the order of ranks and
// its reverse here.
TEST(PartOrders, AreSortedWhereGroupsAreMany) {
  EXPECT_EQ(partOrders(groupsOf({8, 8, 8, 8, 8}), 8).size(), 2u);
  std::vector<DeviceGroup> groups = groupsOf({8, 8, 8, 8, 8});
  std::swap(groups[0].device, groups[3].device);
  std::vector<StageStarts> orders = partOrders(groups, 8);
  EXPECT_TRUE(llvm::is_contained(orders, StageStarts({24, 8, 16, 0, 32})));
}

// The search over its own list of orders finds the best of all permutations, which are enumerated
// here.
TEST(PartOrders, SearchAgreesWithAllPermutations) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Gpt2Config config;
  config.vocabulary = 512;
  config.positions = 1024;
  config.width = 256;
  config.layers = 9;
  config.heads = 4;
  OwningOpRef<ModuleOp> module = completed(buildGpt2(&context, config, 1024));
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  Result<Topology> topology = loadTopology("mixed-l4-a100-h100");
  ASSERT_TRUE(topology.ok()) << topology.error().text();
  ASSERT_EQ(topology->groups.size(), 3u);
  SpaceLimits limits;
  limits.devices = 24;
  limits.layers = 9;
  limits.sequence = 1024;
  limits.groups = topology->groups;
  EstimateRequest request;
  request.topology = &*topology;
  const SoftwareStack software = certifiedStack(); // measurements of dtc do not change it
  request.software = &software;
  request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, *request.software);
  AppliedCells applied(cells, request);
  int notOfRanks = 0, numUneven = 0;
  Pins even,
      uneven; // limits the many ways to split tensors differently on each group to a few details
  even.fix(&Decisions::pp, 3);
  uneven.fix(&Decisions::pp, 3);
  even.fix(&Decisions::tensorOfParts, TensorOfParts{});
  uneven.fix(&Decisions::schedule, ScheduleKind::OneForwardOneBackward);
  uneven.fix(&Decisions::recompute, Recompute::None);
  for (const Pins &pins : {even, uneven})
    for (int64_t batch : {24, 48})
      for (double memory : {3e8, 2e10}) {
        limits.globalBatch = batch;
        request.memoryLimit = request.software->reservedBytes + memory;
        Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
        ASSERT_TRUE(meshes.ok());
        SearchOptions options;
        options.devicesPerNode = 8;
        SearchResult found = searchJointly(cells, *meshes, limits, pins, request, options);
        // Costs every mesh in every order one by one.
        double best = std::numeric_limits<double>::infinity();
        const std::vector<StageStarts> listed = partOrders(limits.groups, 8);
        StageStarts starts{0, 8, 16};
        do {
          auto it = llvm::find(listed, starts);
          ASSERT_NE(it, listed.end());
          for (Decisions mesh : *meshes) {
            if (mesh.partOrder != 0)
              continue;
            mesh.partOrder = static_cast<int>(it - listed.begin());
            ModelCost cost = applied.cost(mesh);
            for (const Decisions &d : enumerateDetails(mesh, limits, pins)) {
              StepEstimate step = estimateStep(cost, d, request);
              if (!step.fits)
                continue;
              refineBySchedule(step, d);
              best = std::min(best, step.stepSeconds);
            }
          }
        } while (std::next_permutation(starts.begin(), starts.end()));
        ASSERT_EQ(found.ranked.empty(), std::isinf(best));
        // A plan costs the same alone as in the search, whatever the search remembers of other
        // meshes.
        for (const Candidate &candidate : found.ranked) {
          StepEstimate alone =
              estimateStep(applied.cost(candidate.decisions), candidate.decisions, request);
          if (candidate.step.isRefined)
            refineBySchedule(alone, candidate.decisions);
          EXPECT_EQ(candidate.step.stepSeconds, alone.stepSeconds);
          numUneven += candidate.decisions.hasUnevenTensor();
        }
        if (found.ranked.empty())
          continue;
        EXPECT_EQ(found.ranked.front().step.stepSeconds, best) << batch << " " << memory;
        notOfRanks += found.ranked.front().decisions.partOrder > 1;
      }
  EXPECT_GE(notOfRanks, 1);
  EXPECT_GE(numUneven, 1);
}

} // namespace
} // namespace dtc
