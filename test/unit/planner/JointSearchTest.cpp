// Tests that the search agrees with costing everything, on many small cases.
#include "compiler/search/planner/JointSearch.h"
#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/estimate/Relaxation.h"

#include "compiler/decide/decisions/Decision.h"
#include "compiler/decide/decisions/Words.h"
#include "compiler/price/estimate/StepBounds.h"
#include "compiler/price/workload/ApplyStack.h"
#include "compiler/price/workload/ModelFacts.h"
#include "compiler/search/planner/DetailSpace.h"
#include "compiler/search/planner/MeshSpace.h"
#include "passes/Pipelines.h"
#include "test/unit/estimate/OwnStack.h"
#include "test/unit/planner/SmallModels.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>
#include <set>

using namespace mlir;

namespace dtc {
namespace {

class JointSearchTest : public testing::Test {
protected:
  JointSearchTest() : context(MLIRContext::Threading::DISABLED) { loadDialects(context); }

  MLIRContext context;
};

struct Case {
  SpaceLimits limits;
  Pins pins;
  EstimateRequest request;
};

// Returns a request in bf16 for a model with sequences of 1024 tokens, and `memory` bytes a device.
Case caseOf(const Topology &topology, int64_t devices, int64_t batch, int64_t layers,
            double memory = 80e9) {
  Case c;
  c.limits.devices = devices;
  c.limits.globalBatch = batch;
  c.limits.layers = layers;
  c.limits.sequence = 1024;
  c.request.topology = &topology;
  c.request.software = &ownStack(topology.device);
  c.request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, *c.request.software);
  c.request.memoryLimit = memory;
  return c;
}

std::string textOf(const Decisions &d) {
  std::string text;
  for (const Decision *each : decisions())
    text += each->key.str() + "=" + each->valueOf(d) + " ";
  return text;
}

// Returns the best of all candidates, each with its schedule simulated.
SearchResult costEverything(CellStore &cells, const std::vector<Decisions> &meshes, const Case &c,
                            SearchOptions options) {
  options.prune = false;
  options.keep = options.refined = size_t(1) << 30;
  return searchJointly(cells, meshes, c.limits, c.pins, c.request, options);
}

TEST_F(JointSearchTest, AgreesWithCostingEverything) {
  std::mt19937 random(7);
  auto pick = [&](std::initializer_list<int64_t> values) {
    return *(values.begin() + random() % values.size());
  };
  const char *topologies[] = {"dgx-h100", "dgx-a100-80g"};
  int feasible = 0, cases = 0, offloaded = 0, surer = 0, grouped = 0;
  for (int model = 0; model < 6; ++model) {
    int64_t layers = 1 + model, sequence = model % 2 ? 1024 : 128;
    bool experts = model % 3 == 2;
    OwningOpRef<ModuleOp> module =
        experts ? smallMixture(context, layers, sequence) : smallGpt2(context, layers, sequence);
    FoldedModel folded = foldLayers(*module);
    CellStore cells(folded);
    for (int variant = 0; variant < 55; ++variant) {
      // Six layers with experts cost more than all other cases together, so there are a third as
      // many of them, and only one in nine of these has 16 devices.
      bool isLarge = experts && layers == 6;
      if (isLarge && variant % 3 != 0)
        continue;
      int64_t nodes = pick({1, 2});
      Result<Topology> topology =
          loadTopology(topologies[random() % 2], isLarge && variant % 27 != 0 ? 1 : nodes, 0);
      ASSERT_TRUE(topology.ok());
      int64_t devices = pick({2, 4, 8});
      if (topology->nodes == 1)
        topology = loadTopology(topology->name, 1, devices);
      ASSERT_TRUE(topology.ok());
      Case c;
      c.limits.topologyName = topology->name;
      c.limits.devices = topology->numDevices();
      c.limits.globalBatch = pick({8, 16, 24, 48});
      c.limits.layers = layers;
      c.limits.sequence = sequence;
      c.limits.experts = experts ? 4 : 1;
      c.limits.tokenGroups = readModelFacts(*module).tokenGroups;
      c.limits.kvHeads = readModelFacts(*module).kvHeads;
      c.limits.mayOffload = random() % 2;
      if (random() % 3 == 0)
        c.pins.fix(&Decisions::tp, pick({1, 2}));
      if (random() % 4 == 0)
        c.pins.fix(&Decisions::zero, pick({0, 1, 3}));
      if (random() % 5 == 0)
        c.pins.fix(&Decisions::schedule, ScheduleKind::OneForwardOneBackward);
      if (variant % 9 != 1) // there are many groups of ZeRO
        c.pins.fix(&Decisions::zeroGroup, 0);
      if (variant % 4 != 0) // A test of the other kinds has longer sequences.
        c.pins.fix(&Decisions::contextKind, ContextKind::Ring); // cp = 1 is a ring, too
      c.request.topology = &*topology;
      // If only tensors are counted, little memory limits every mesh.
      SoftwareStack software = ownStack(topology->device);
      if (variant % 2 == 0)
        software.communicatorBytes = 0;
      c.request.software = &software;
      c.request.precision =
          cellPrecision(Precision::BF16, OptimizerKind::AdamW, *c.request.software);
      // Some limits bind, others do not.
      c.request.memoryLimit = c.request.software->reservedBytes +
                              3 * c.request.software->communicatorBytes +
                              static_cast<double>(pick({4, 8, 16, 40, 1000, 100000})) * (1 << 20);
      Result<std::vector<Decisions>> meshes = enumerateMeshes(c.limits, c.pins);
      if (!meshes)
        continue;
      ++cases;
      SearchOptions options;
      options.devicesPerNode = topology->devicesPerNode;
      // Plans of a third of the cases have probabilities to fit that vary with their memory.
      if (variant % 3 == 0)
        options.fitProbability = [](const StepEstimate &step) {
          return std::fmod(step.peakBytes / 1e6, 1);
        };
      SearchResult found = searchJointly(cells, *meshes, c.limits, c.pins, c.request, options);
      SearchResult all = costEverything(cells, *meshes, c, options);
      ASSERT_EQ(found.ranked.empty(), all.ranked.empty());
      if (all.ranked.empty())
        continue;
      ++feasible;
      EXPECT_TRUE(found.complete());
      EXPECT_EQ(found.ranked.front().score(), all.ranked.front().score())
          << "model " << model << " variant " << variant;
      double fastest = std::numeric_limits<double>::infinity();
      for (const Candidate &candidate : all.ranked)
        fastest = std::min(fastest, candidate.step.stepSeconds);
      EXPECT_LE(found.lowerBound, fastest * (1 + 1e-12));
      surer += found.ranked.front().step.stepSeconds > fastest;
      double relaxed =
          relaxedStepSeconds(applyStack(*cells.get(1, false), software, ComputeType::BF16),
                             c.limits.globalBatch, *topology, c.request.precision);
      EXPECT_GT(relaxed, 0);
      for (const Candidate &candidate : all.ranked)
        ASSERT_LE(relaxed, candidate.step.stepSeconds)
            << textOf(candidate.decisions) << " model " << model << " variant " << variant;
      offloaded += found.ranked.front().decisions.offloadOptimizer;
      grouped += found.ranked.front().decisions.zeroGroup > 0;
    }
  }
  EXPECT_GE(cases, 270);
  EXPECT_GE(feasible, 200);
  EXPECT_GE(offloaded, 3);
  EXPECT_GE(surer, 3);
  EXPECT_GE(grouped, 3);
}

// Checks that kinds of context parallelism that are ruled out would not have won. Rings win if they
// hide, swaps of heads if they do not, and the hybrid if heads go no further than a node.
TEST_F(JointSearchTest, AgreesOnKindsOfContextParallelism) {
  std::mt19937 random(11);
  auto pick = [&](std::initializer_list<int64_t> values) {
    return *(values.begin() + random() % values.size());
  };
  OwningOpRef<ModuleOp> module = smallUntied(context, 2, 8192, 512);
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  Topology nodes = *loadTopology("dgx-h100", 2, 0);
  std::map<ContextKind, int> chosen;
  for (int variant = 0; variant < 24; ++variant) {
    Topology topology = nodes.slice(pick({0, 4, 6}), 8);
    Case c = caseOf(topology, 8, pick({2, 4}), 2);
    c.limits.topologyName = topology.name;
    c.limits.sequence = 8192;
    c.limits.kvHeads = readModelFacts(*module).kvHeads;
    c.pins.fix(&Decisions::cp, pick({4, 8}));
    SoftwareStack software = ownStack(topology.device);
    software.cpHidden = static_cast<double>(pick({0, 5, 8, 10})) / 10;
    software.overlapSlowdown = static_cast<double>(pick({10, 12})) / 10;
    c.request.software = &software;
    Result<std::vector<Decisions>> meshes = enumerateMeshes(c.limits, c.pins);
    ASSERT_TRUE(meshes.ok());
    SearchResult found = searchJointly(cells, *meshes, c.limits, c.pins, c.request, {});
    SearchResult all = costEverything(cells, *meshes, c, {});
    ASSERT_FALSE(found.ranked.empty());
    EXPECT_LT(found.costed, all.costed);
    EXPECT_EQ(found.ranked.front().score(), all.ranked.front().score()) << variant;
    ContextKind kind = found.ranked.front().decisions.contextKind;
    ++chosen[kind];
    // It hides nothing, but sends gradients in 16 bits, which a ring of programs adds up in f32.
    if (software.cpHidden > 0) {
      EXPECT_NE(kind, ContextKind::AllGather) << variant;
    }
  }
  EXPECT_GE(chosen[ContextKind::Ring], 1);
  EXPECT_GE(chosen[ContextKind::AllToAll], 1);
  EXPECT_GE(chosen[ContextKind::Both], 1);
}

// If nothing fits, the search finds the smallest memory of all: the micro-batch is the smallest,
// everything is recomputed, and the optimizer is on the host.
TEST_F(JointSearchTest, FindsWhatNeedsLeastWhereNothingFits) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 4, 1024);
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  Result<Topology> topology = loadTopology("dgx-h100", 1, 4);
  ASSERT_TRUE(topology.ok());
  SoftwareStack software = ownStack(topology->device);
  Case c;
  c.limits.topologyName = topology->name;
  c.limits.devices = 4;
  c.limits.globalBatch = 32;
  c.limits.layers = 4;
  c.limits.sequence = 1024;
  c.limits.mayOffload = true;
  c.request.topology = &*topology;
  c.request.software = &software;
  c.request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, software);
  c.request.memoryLimit = 1 << 20;
  Result<std::vector<Decisions>> meshes = enumerateMeshes(c.limits, c.pins);
  ASSERT_TRUE(meshes.ok());
  SearchOptions options;
  options.devicesPerNode = 4;
  SearchResult found = searchJointly(cells, *meshes, c.limits, c.pins, c.request, options);
  ASSERT_TRUE(found.ranked.empty() && found.leastMemory);
  // This costs everything, without pruning.
  options.prune = false;
  options.ignoreMemory = true;
  options.keep = options.refined = size_t(1) << 30;
  SearchResult all = searchJointly(cells, *meshes, c.limits, c.pins, c.request, options);
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate &candidate : all.ranked)
    least = std::min(least, candidate.step.memoryNeed);
  EXPECT_EQ(found.leastMemory->step.memoryNeed, least) << textOf(found.leastMemory->decisions);
}

// Memory decides: the optimizer is on the device if it fits there, and on the host if only that
// fits. It is also on the host if its update costs less than the recomputation that it saves.
TEST_F(JointSearchTest, PutsTheOptimizerOnTheHostWhereThatHelps) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 4, 1024);
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  Result<Topology> topology = loadTopology("dgx-a100-80g", 1, 1);
  ASSERT_TRUE(topology.ok());
  Case c;
  c.limits.globalBatch = 8;
  c.limits.layers = 4;
  c.limits.sequence = 1024;
  c.limits.mayOffload = true;
  c.request.topology = &*topology;
  c.request.software = &ownStack(topology->device);
  c.request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, *c.request.software);
  Result<std::vector<Decisions>> meshes = enumerateMeshes(c.limits, c.pins);
  ASSERT_TRUE(meshes.ok());
  auto best = [&](double memory) {
    c.request.memoryLimit = memory;
    return searchJointly(cells, *meshes, c.limits, c.pins, c.request, SearchOptions());
  };
  SearchResult roomy = best(80e9);
  ASSERT_FALSE(roomy.ranked.empty());
  EXPECT_FALSE(roomy.ranked.front().decisions.offloadOptimizer);
  c.limits.mayOffload = false;
  SearchResult lean = best(1);
  ASSERT_TRUE(lean.leastMemory.has_value());
  double least = lean.leastMemory->step.peakBytes;
  EXPECT_FALSE(best(least).ranked.empty());
  EXPECT_TRUE(best(least - 1).ranked.empty());
  c.limits.mayOffload = true;
  SearchResult tight = best(least - 1);
  ASSERT_FALSE(tight.ranked.empty());
  EXPECT_TRUE(tight.ranked.front().decisions.offloadOptimizer);
  EXPECT_GT(tight.ranked.front().step.stages.front().hostBytes, 0);
  // A host without memory cannot help.
  topology->device.host.memoryBytes = 1 << 20;
  EXPECT_TRUE(best(least - 1).ranked.empty());
}

TEST_F(JointSearchTest, AgreesOnHeterogeneousDevices) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 6, 1024);
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  Result<Topology> topology = loadTopology("mixed-a100-h100");
  ASSERT_TRUE(topology.ok());
  Topology few = topology->slice(24, 16); // a node of each kind
  for (int64_t batch : {8, 24, 48})
    for (double memory : {1e9, 4e10}) {
      Case c;
      c.limits.devices = 16;
      c.limits.globalBatch = batch;
      c.limits.layers = 6;
      c.limits.sequence = 1024;
      c.limits.groups = few.groups;
      c.limits.mayOffload = batch != 24;
      c.request.topology = &few;
      c.request.software = &ownStack(few.device);
      c.request.precision =
          cellPrecision(Precision::BF16, OptimizerKind::AdamW, *c.request.software);
      c.request.memoryLimit = c.request.software->reservedBytes + memory;
      Result<std::vector<Decisions>> meshes = enumerateMeshes(c.limits, c.pins);
      ASSERT_TRUE(meshes.ok());
      SearchOptions options;
      options.devicesPerNode = 8;
      SearchResult found = searchJointly(cells, *meshes, c.limits, c.pins, c.request, options);
      SearchResult all = costEverything(cells, *meshes, c, options);
      ASSERT_FALSE(all.ranked.empty());
      EXPECT_EQ(found.ranked.front().step.stepSeconds, all.ranked.front().step.stepSeconds);
    }
}

// Small batches in deep pipelines, where several chunks a stage win: their bounds must not be those
// of one chunk a stage.
TEST_F(JointSearchTest, AgreesWhereStagesHaveSeveralChunks) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 16, 1024, 1024);
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  Result<Topology> topology = loadTopology("dgx-h100", 1, 4);
  ASSERT_TRUE(topology.ok());
  for (std::optional<ScheduleKind> schedule :
       {std::optional(ScheduleKind::Interleaved), std::optional<ScheduleKind>()}) {
    Case c = caseOf(*topology, 4, 16, 16);
    c.pins.fix(&Decisions::pp, 4);
    if (schedule)
      c.pins.fix(&Decisions::schedule, *schedule);
    Result<std::vector<Decisions>> meshes = enumerateMeshes(c.limits, c.pins);
    ASSERT_TRUE(meshes.ok());
    SearchOptions options;
    options.devicesPerNode = 4;
    SearchResult found = searchJointly(cells, *meshes, c.limits, c.pins, c.request, options);
    SearchResult all = costEverything(cells, *meshes, c, options);
    ASSERT_FALSE(all.ranked.empty());
    EXPECT_EQ(found.ranked.front().score(), all.ranked.front().score())
        << textOf(all.ranked.front().decisions);
  }
}

// A limit a little below the smallest memory fits nothing, and that memory fits, also if memory
// cuts the stages.
TEST_F(JointSearchTest, FindsWhatNeedsLeastOfStagesThatMemoryCuts) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 24, 1024, 1024, 50257);
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  Result<Topology> topology = loadTopology("dgx-h100", 1, 4);
  ASSERT_TRUE(topology.ok());
  Case c = caseOf(*topology, 4, 32, 24);
  c.pins.fix(&Decisions::pp, 4);
  c.pins.fix(&Decisions::microBatch, 4);
  c.pins.fix(&Decisions::schedule, ScheduleKind::OneForwardOneBackward);
  Result<std::vector<Decisions>> meshes = enumerateMeshes(c.limits, c.pins);
  ASSERT_TRUE(meshes.ok());
  auto search = [&](double memory) {
    c.request.memoryLimit = memory;
    return searchJointly(cells, *meshes, c.limits, c.pins, c.request, SearchOptions());
  };
  SearchResult none = search(1);
  ASSERT_TRUE(none.leastMemory.has_value());
  double least = none.leastMemory->step.peakBytes;
  EXPECT_FALSE(search(least).ranked.empty());
  EXPECT_TRUE(search(least * (1 - 3e-3)).ranked.empty());
}

// Over all meshes, schedules and cuts, something fits with the smallest memory, and nothing with a
// little less.
TEST_F(JointSearchTest, FindsWhatNeedsLeastOfAllMeshesAndCuts) {
  Result<Topology> topology = loadTopology("dgx-h100", 1, 8);
  ASSERT_TRUE(topology.ok());
  std::set<std::string> leastMemory;
  for (auto [layers, vocabulary] :
       {std::pair(7, 512), {10, 50257}, {13, 8192}, {21, 50257}, {22, 120000}}) {
    OwningOpRef<ModuleOp> module = smallGpt2(context, layers, 1024, 1024, vocabulary);
    FoldedModel folded = foldLayers(*module);
    CellStore cells(folded);
    for (int64_t batch : {8, 24}) {
      Case c = caseOf(*topology, 8, batch, layers);
      if (batch == 24)
        c.pins.fix(&Decisions::zero, 0);
      Result<std::vector<Decisions>> meshes = enumerateMeshes(c.limits, c.pins);
      ASSERT_TRUE(meshes.ok());
      auto search = [&](double memory) {
        c.request.memoryLimit = memory;
        return searchJointly(cells, *meshes, c.limits, c.pins, c.request, SearchOptions());
      };
      SearchResult none = search(1);
      ASSERT_TRUE(none.leastMemory.has_value());
      double least = none.leastMemory->step.memoryNeed;
      EXPECT_FALSE(search(least * (1 + 1e-9)).ranked.empty()) << layers << " " << batch;
      EXPECT_TRUE(search(least * (1 - 3e-3)).ranked.empty())
          << layers << " " << batch << " " << textOf(none.leastMemory->decisions);
      leastMemory.insert(textOf(none.leastMemory->decisions));
    }
  }
  EXPECT_GE(leastMemory.size(), 2u);
}

// No schedule is faster than the bound of its decisions, nor than that of its cut into stages.
TEST_F(JointSearchTest, BoundsHold) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 6, 1024);
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  Result<Topology> topology = loadTopology("dgx-h100", 1, 8);
  ASSERT_TRUE(topology.ok());
  Case c = caseOf(*topology, 8, 24, 6);
  Result<std::vector<Decisions>> meshes = enumerateMeshes(c.limits, c.pins);
  ASSERT_TRUE(meshes.ok());
  for (const Decisions &mesh : *meshes) {
    const ModelCells *model = cells.get(mesh.tp, mesh.sequenceParallel);
    ASSERT_NE(model, nullptr);
    ModelCells applied = applyStack(*model, *c.request.software, c.request.precision.compute);
    ModelCost cost = costModel(applied, mesh, *topology, c.request.precision);
    for (const Decisions &d : enumerateDetails(mesh, c.limits, c.pins)) {
      StepEstimate step = estimateStep(cost, d, c.request);
      double bound = lowerBoundSeconds(cost, d, c.request), ofCut = step.leastSeconds();
      refineBySchedule(step, d);
      EXPECT_LE(bound, ofCut * (1 + 1e-9));
      EXPECT_LE(ofCut, step.stepSeconds * (1 + 1e-9))
          << toString(d.schedule).str() << " pp " << d.pp << " v " << d.virtualStages << " m "
          << d.numMicroBatches << " recompute " << toString(d.recompute).str();
    }
  }
}

// The time of the work alone is below every bound of the same mesh, for any order of axes, ZeRO,
// schedule and recomputation; on one device it equals the bound.
TEST_F(JointSearchTest, FloorsAreBelowBounds) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 6, 1024);
  FoldedModel folded = foldLayers(*module);
  CellStore cells(folded);
  Result<Topology> topology = loadTopology("dgx-h100", 2, 16);
  ASSERT_TRUE(topology.ok());
  Case c = caseOf(*topology, 16, 48, 6);
  Result<std::vector<Decisions>> meshes = enumerateMeshes(c.limits, c.pins);
  ASSERT_TRUE(meshes.ok());
  std::map<const ModelCells *, ModelCells> applied;
  KnownCosts known(*topology);
  for (const Decisions &mesh : *meshes) {
    const ModelCells *model = cells.get(mesh.tp, mesh.sequenceParallel);
    ASSERT_NE(model, nullptr);
    auto [it, isNew] = applied.try_emplace(model);
    if (isNew)
      it->second = applyStack(*model, *c.request.software, c.request.precision.compute);
    double floor = floorSeconds(
        workOfModel(it->second, mesh, *topology, c.request.precision, known), mesh, c.request);
    EXPECT_GT(floor, 0);
    ModelCost cost = costModel(it->second, mesh, *topology, c.request.precision, &known);
    for (const Decisions &d : enumerateDetails(mesh, c.limits, c.pins))
      EXPECT_LE(floor, lowerBoundSeconds(cost, d, c.request))
          << toString(d.schedule).str() << " tp " << d.tp << " pp " << d.pp << " cp " << d.cp;
    if (mesh.tp == 1 && mesh.pp == 1 && mesh.cp == 1)
      EXPECT_DOUBLE_EQ(floor, lowerBoundSeconds(cost, mesh, c.request));
  }
}

// If a little memory is missing, as few layers as necessary recompute cheap ops.
TEST_F(JointSearchTest, SomeLayersRecomputeSome) {
  OwningOpRef<ModuleOp> module = smallGpt2(context, 8, 1024);
  FoldedModel folded = foldLayers(*module);
  std::optional<ModelCells> cells = readCells(folded, 1, false);
  Result<Topology> topology = loadTopology("dgx-h100", 1, 1);
  ASSERT_TRUE(cells && topology);
  EstimateRequest request;
  request.topology = &*topology;
  request.software = &ownStack(topology->device);
  request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, *request.software);
  request.memoryLimit = 1e15;
  Decisions d;
  d.microBatch = 8;
  ModelCells applied = applyStack(*cells, *request.software, request.precision.compute);
  ModelCost model = costModel(applied, d, *topology, request.precision);
  StepEstimate none = estimateStep(model, d, request);
  d.recompute = d.recomputeMost = Recompute::Selective;
  StepEstimate all = estimateStep(model, d, request);
  ASSERT_LT(all.peakBytes, none.peakBytes);
  ASSERT_GT(all.stepSeconds, none.stepSeconds);
  request.memoryLimit = (all.peakBytes + none.peakBytes) / 2;
  d.recompute = Recompute::None;
  StepEstimate some = estimateStep(model, d, request);
  EXPECT_TRUE(some.fits);
  EXPECT_EQ(some.stages[0].layersThat(Recompute::Selective), 4);
  EXPECT_EQ(some.stages[0].layersThat(Recompute::None), 4);
  EXPECT_NEAR(some.stepSeconds, (all.stepSeconds + none.stepSeconds) / 2, 1e-9);
  EXPECT_NEAR(some.peakBytes, request.memoryLimit, 1e-6 * request.memoryLimit);
}

} // namespace
} // namespace dtc
