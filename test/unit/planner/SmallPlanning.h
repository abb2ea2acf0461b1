// Random problems of planning a small model, with the search's answers and bounds.
#pragma once

#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/estimate/Relaxation.h"
#include "compiler/price/estimate/SharedEstimates.h"
#include "compiler/price/estimate/StepBounds.h"
#include "compiler/price/workload/ApplyStack.h"
#include "compiler/price/workload/ModelFacts.h"
#include "compiler/search/planner/MeshSpace.h"
#include "test/unit/estimate/OwnStack.h"
#include "test/unit/planner/CertifiedStack.h"
#include "test/unit/planner/PlanEnumerator.h"

#include <random>

namespace dtc {

// A model, and random problems of planning it.
class SmallPlanning {
public:
  SmallPlanning(mlir::OwningOpRef<mlir::ModuleOp> module, int64_t layers, int64_t sequence,
                int64_t experts)
      : module(std::move(module)), folded(foldLayers(*this->module)), cells(folded) {
    problem.limits.layers = layers;
    problem.limits.sequence = sequence;
    problem.limits.experts = experts;
    problem.limits.tokenGroups = readModelFacts(*this->module).tokenGroups;
    problem.limits.kvHeads = readModelFacts(*this->module).kvHeads;
  }

  // Chooses two nodes with half of the devices each, or one node.
  void choose(std::mt19937 &random, std::initializer_list<int64_t> deviceCounts) {
    auto pick = [&](std::initializer_list<int64_t> values) {
      return *(values.begin() + random() % values.size());
    };
    const char *names[] = {"dgx-h100", "dgx-a100-80g"};
    int64_t devices = pick(deviceCounts);
    Topology nodes = *loadTopology(names[random() % 2], 2, 0);
    bool isOnBorder = devices > 1 && random() % 2;
    use(nodes.slice(isOnBorder ? 8 - devices / 2 : 0, devices));
    problem.limits.globalBatch = pick({4, 8, 12, 16});
    problem.limits.mayOffload = random() % 2;
    problem.pins = Pins();
    if (random() % 2)
      problem.pins.fix(&Decisions::zero, pick({0, 1, 2, 3}));
    std::vector<int64_t> buckets[] = {
        {kStackBuckets}, {4 << 20, 64 << 20, kOneBucket}, {8 << 20, 256 << 20}};
    problem.request.bucketSizes = buckets[random() % 3];
    if (random() % 2)
      software.communicatorBytes = 0; // Little memory then limits every mesh.
    limitMemory(static_cast<double>(pick({101, 110, 130, 160, 220, 10000})) / 100);
    problem.limits.searchesPlacements = random() % 4 == 0;
  }

  // Chooses many micro-batches through two or four stages, under a tight memory limit.
  void choosePipeline(std::mt19937 &random) {
    choose(random, {4});
    problem.limits.globalBatch = 16;
    problem.pins.fix(&Decisions::microBatch, 1);
    problem.pins.fix(&Decisions::pp, random() % 2 ? 2 : 4);
    limitMemory(1.01 + static_cast<double>(random() % 8) / 16);
  }

  // Makes copies of small layers take about as long as their passes.
  void speedUpHost(std::mt19937 &random) {
    topology.device.host.linkBandwidth *= static_cast<double>(1 << random() % 6);
  }

  // Limits the memory to a multiple of the smallest memory that any plan needs.
  void limitMemory(double share) {
    problem.limits.searchesPlacements = false;
    problem.request.memoryLimit = 1;
    problem.request.memoryLimit = share * search().leastMemory->step.peakBytes;
  }

  // Plans for this topology from now on.
  void use(Topology of) {
    topology = std::move(of);
    SpaceLimits &limits = problem.limits;
    limits.topologyName = topology.name;
    limits.devices = topology.numDevices();
    limits.groups.clear();
    if (!topology.isUniform())
      limits.groups = topology.groups;
    software = isOfDtc ? ownStack(topology.device) : certifiedStack();
    if (dividesVocabulary)
      software.space.vocabOverPp = 0b11;
    auto bitOf = [](Recompute how) { return 1u << static_cast<unsigned>(how); };
    software.space.recompute =
        recomputesPartially
            ? (1u << kNumRecomputes) - 1
            : bitOf(Recompute::None) | bitOf(Recompute::Selective) | bitOf(Recompute::Full);
    software.space.offloadActivations = offloadsActivations ? software.space.recompute : 0;
    limits.mayOffloadActivations = offloadsActivations;
    EstimateRequest &request = problem.request;
    request.topology = &topology;
    request.software = &software;
    request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, software);
  }

  // Searches as the planner does: estimates share their common results.
  SearchResult search(double seconds = SearchOptions().seconds) {
    Result<std::vector<Decisions>> meshes = enumerateMeshes(problem.limits, problem.pins);
    EXPECT_TRUE(meshes.ok());
    SharedEstimates shared;
    EstimateRequest request = problem.request;
    request.shared = &shared;
    SearchOptions options;
    options.devicesPerNode = topology.devicesPerNode;
    options.seconds = seconds;
    return searchJointly(cells, *meshes, problem.limits, problem.pins, request, options);
  }

  // Returns the bound that ignores communication and memory, in seconds.
  double relaxedSeconds() {
    return relaxedStepSeconds(
        applyStack(*cells.get(1, false), software, problem.request.precision.compute),
        problem.limits.globalBatch, topology, problem.request.precision);
  }

  mlir::OwningOpRef<mlir::ModuleOp> module;
  FoldedModel folded;
  CellStore cells;
  Topology topology;
  SoftwareStack software;
  bool dividesVocabulary = false; // set before choose()
  bool isOfDtc = false;           // prices dtc on GPUs as it is now
  bool recomputesPartially = false;
  bool offloadsActivations = false;
  PlanProblem problem;
};

} // namespace dtc
