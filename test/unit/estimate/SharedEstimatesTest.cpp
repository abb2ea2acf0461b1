// Tests that sharing results between decisions changes no estimate.
#include "compiler/price/estimate/SharedEstimates.h"
#include "compiler/describe/topology/LoadTopology.h"

#include "compiler/describe/frontend/Frontend.h"
#include "compiler/price/estimate/StepBounds.h"
#include "compiler/price/estimate/StepEstimate.h"
#include "compiler/search/planner/DetailSpace.h"
#include "compiler/search/planner/JointSearch.h"
#include "compiler/search/planner/MeshSpace.h"
#include "models/Gpt2.h"
#include "passes/Pipelines.h"
#include "test/unit/estimate/AppliedCells.h"
#include "test/unit/estimate/OwnStack.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace dtc;

namespace {

// Compares every mesh of the devices with every detail, with and without sharing.
void compareAll(const Topology &topology, const Pins &pins) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Gpt2Config config;
  config.vocabulary = 512;
  config.positions = 1024;
  config.width = 256;
  config.layers = 6;
  config.heads = 8;
  OwningOpRef<ModuleOp> module = completed(buildGpt2(&context, config, config.positions));
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  SpaceLimits limits;
  limits.devices = topology.numDevices();
  limits.globalBatch = 4;
  limits.layers = 6;
  limits.sequence = 1024;
  if (!topology.isUniform())
    limits.groups = topology.groups;
  EstimateRequest alone;
  alone.topology = &topology;
  alone.software = &ownStack(topology.device);
  alone.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, *alone.software);
  alone.memoryLimit = 2e9;
  alone.bucketSizes = bucketSizes().take_back(3).vec();
  SharedEstimates shared;
  EstimateRequest sharing = alone;
  sharing.shared = &shared;
  Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
  ASSERT_TRUE(meshes.ok());
  AppliedCells applied(cells, alone);
  KnownCosts known(topology);
  for (const Decisions &mesh : *meshes) {
    ModelCost cost = applied.cost(mesh), likewise = applied.cost(mesh, &known);
    for (const Decisions &d : enumerateDetails(mesh, limits, pins)) {
      StepEstimate a = estimateStep(cost, d, alone), b = estimateStep(likewise, d, sharing);
      ASSERT_EQ(a.stepSeconds, b.stepSeconds);
      ASSERT_EQ(a.peakBytes, b.peakBytes);
      ASSERT_EQ(a.bucketBytes, b.bucketBytes);
      ASSERT_EQ(lowerBoundSeconds(cost, d, alone), lowerBoundSeconds(likewise, d, sharing));
    }
  }
}

} // namespace

TEST(SharedEstimates, AreThoseThatAreMadeAlone) {
  compareAll(*loadTopology("dgx-h100", 1, 4), Pins());
}

// Two stages are on a node of each kind, in both orders.
TEST(SharedEstimates, AreThoseOfTheRightDevices) {
  Pins pins;
  pins.fix(&Decisions::tp, 8);
  pins.fix(&Decisions::pp, 2);
  compareAll(loadTopology("mixed-a100-h100")->slice(24, 16), pins);
  // The groups also split tensors differently.
  pins = Pins();
  pins.fix(&Decisions::pp, 2);
  pins.fix(&Decisions::schedule, ScheduleKind::OneForwardOneBackward);
  pins.fix(&Decisions::recompute, Recompute::None);
  compareAll(loadTopology("mixed-a100-h100")->slice(28, 8), pins);
}
