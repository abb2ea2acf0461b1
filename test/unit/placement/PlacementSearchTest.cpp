// Placements over tensor parallelism that are searched for.
#include "compiler/placement/PlacementFrontier.h"
#include "compiler/workload/ApplyStack.h"

#include "models/Gpt2.h"
#include "models/Llama.h"
#include "passes/Pipelines.h"
#include "passes/shard/ParameterPlacement.h"
#include "test/unit/estimate/OwnStack.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace dtc {
namespace {

class PlacementSearchTest : public testing::Test {
protected:
  PlacementSearchTest() : context(MLIRContext::Threading::DISABLED) {
    loadDialects(context);
    topology.emplace(*loadTopology("dgx-h100", 8, 0));
    request.topology = &*topology;
    request.software = &ownStack(topology->device);
    request.precision = cellPrecision("bf16", "adamw", *request.software);
  }

  OwningOpRef<ModuleOp> gpt3() {
    Gpt2Config config;
    config.vocabulary = 51200;
    config.positions = 2048;
    config.width = 12288;
    config.layers = 2;
    config.heads = 96;
    return buildGpt2(&context, config, 2048);
  }

  OwningOpRef<ModuleOp> llama(int64_t sequence, int64_t experts = 0) {
    LlamaConfig config;
    config.vocabulary = 32768;
    config.width = 4096;
    config.innerWidth = 14336;
    config.layers = 2;
    config.heads = 32;
    config.kvHeads = 8;
    config.headDim = 128;
    config.inverseFrequencies = rotaryFrequencies(500000, 128);
    config.experts = experts;
    return buildLlama(&context, config, sequence);
  }

  Decisions decisions(int64_t tp, bool sequenceParallel) const {
    Decisions d;
    d.tp = tp;
    d.dp = topology->numDevices() / tp;
    d.sequenceParallel = sequenceParallel;
    return d;
  }

  // Seconds of the layer, collectives included, for one sample.
  double layerSeconds(const ModelCells &cells, const Decisions &d) const {
    ModelCells applied = applyStack(cells, *request.software, request.precision.compute);
    ModelCost cost = costModel(applied, d, *topology, request.precision);
    return secondsOf(cost.blocks.front());
  }
  static double secondsOf(const BlockCost &part) {
    return part.forward + part.backward() + part.forwardTp + part.backwardTp;
  }

  std::optional<SearchedPlacements> cheapest(const FoldedModel &folded, const Decisions &d,
                                             const MemoryWorth &worth) const {
    return PlacementSearcher(folded).cheapest(d.tp, d.sequenceParallel, worth, groupsOf(d).tp,
                                              *topology, request.precision, *request.software);
  }

  MLIRContext context;
  std::optional<Topology> topology;
  EstimateRequest request;
};

// Where memory is dear the search arrives at what Megatron's authors chose by hand.
TEST_F(PlacementSearchTest, FindsMegatronsPattern) {
  OwningOpRef<ModuleOp> module = gpt3();
  FoldedModel folded = foldLayers(*module);
  OwningOpRef<ModuleOp> placed(folded.module->clone());
  Mesh mesh{{"dp", "tp"}, {1, 8}, {AxisRole::Data, AxisRole::Tensor}};
  ParameterPlacementOptions options{/*weightAxis=*/1, {/*dataAxis=*/0, true}};
  ASSERT_TRUE(succeeded(chooseParameterPlacements(*placed, mesh, options)));
  std::optional<SearchedPlacements> found = cheapest(folded, decisions(8, true), {0, 1e-9});
  ASSERT_TRUE(found);
  int matrices = 0;
  for (auto parameter : placed->getOps<graph::ParameterOp>()) {
    std::string name = parameter.getSymName().str();
    bool isLayers = name.find(".h.0.") != std::string::npos;
    if (!isLayers || cast<RankedTensorType>(parameter.getType()).getRank() < 2 ||
        name.ends_with("bias"))
      continue;
    ++matrices;
    AxisPlacement megatron = fromAttr(parameter.getPlacementAttr(), mesh)[1];
    EXPECT_EQ(found->parameters.at(name), megatron.isShard() ? megatron.dim : -1) << name;
  }
  EXPECT_EQ(matrices, 4);
}

// Under sequence parallelism Megatron gathers a norm's result twice; keeping it is faster, where
// there is memory for it.
TEST_F(PlacementSearchTest, SavesTheSecondGather) {
  OwningOpRef<ModuleOp> module = gpt3();
  FoldedModel folded = foldLayers(*module);
  Decisions d = decisions(8, true);
  std::optional<ModelCells> policy = readCells(folded, d.tp, true);
  std::optional<SearchedPlacements> found = cheapest(folded, d, {0, 1e-12});
  ASSERT_TRUE(policy && found);
  std::optional<ModelCells> cells = readCells(folded, d.tp, true, *found);
  ASSERT_TRUE(cells);
  EXPECT_LT(layerSeconds(*cells, d), 0.97 * layerSeconds(*policy, d));
  auto gathers = [](const ModelCells &model) {
    return llvm::count_if(model.blocks.front().collectives, [](const CellCollective &collective) {
      return collective.kind == CollectiveKind::AllGather;
    });
  };
  EXPECT_LT(gathers(*cells), gathers(*policy));
  CellScale one;
  EXPECT_GT(cells->blocks.front().kept.at(one), policy->blocks.front().kept.at(one));
}

// Weights that memory is free for: every rank has its part of the sequence, as in DeepSpeed-Ulysses
// (Jacobs et al. 2023, arXiv:2309.14509), and only attention exchanges heads for sequence.
TEST_F(PlacementSearchTest, SplitsLongSequencesWhereWeightsMayBeWhole) {
  OwningOpRef<ModuleOp> module = llama(65536);
  FoldedModel folded = foldLayers(*module);
  Decisions d = decisions(8, true);
  std::optional<ModelCells> policy = readCells(folded, d.tp, true);
  std::optional<SearchedPlacements> found = cheapest(folded, d, {0, 0});
  ASSERT_TRUE(policy && found);
  std::optional<ModelCells> cells = readCells(folded, d.tp, true, *found);
  ASSERT_TRUE(cells);
  EXPECT_LT(layerSeconds(*cells, d), layerSeconds(*policy, d));
  EXPECT_TRUE(llvm::any_of(cells->blocks.front().collectives, [](const CellCollective &collective) {
    return collective.kind == CollectiveKind::AllToAll;
  }));
  // Gradients of whole weights are sums over tensor parallelism, and are counted.
  CellScale one;
  EXPECT_GT(cells->blocks.front().sharedGradients.at(one), 0.9 * 200e6);
}

TEST_F(PlacementSearchTest, ThePriceOfKeptBytesLowersThem) {
  OwningOpRef<ModuleOp> module = llama(4096);
  FoldedModel folded = foldLayers(*module);
  for (bool sequenceParallel : {false, true}) {
    Decisions d = decisions(4, sequenceParallel);
    double last = std::numeric_limits<double>::infinity();
    CellScale one;
    for (double price : {0.0, 1e-11, 1e-9}) {
      std::optional<SearchedPlacements> found = cheapest(folded, d, {price, 1e-12});
      ASSERT_TRUE(found);
      std::optional<ModelCells> cells = readCells(folded, d.tp, sequenceParallel, *found);
      ASSERT_TRUE(cells);
      double kept = cells->blocks.front().kept.at(one);
      EXPECT_LE(kept, last);
      last = kept;
    }
  }
}

TEST_F(PlacementSearchTest, PlacesMixturesOfExperts) {
  OwningOpRef<ModuleOp> module = llama(1024, /*experts=*/8);
  FoldedModel folded = foldLayers(*module);
  for (int64_t tp : {2, 4})
    for (bool sequenceParallel : {false, true}) {
      Decisions d = decisions(tp, sequenceParallel);
      std::optional<SearchedPlacements> found = cheapest(folded, d, {0, 1e-12});
      ASSERT_TRUE(found) << tp << sequenceParallel;
      EXPECT_TRUE(readCells(folded, tp, sequenceParallel, *found)) << tp << sequenceParallel;
    }
}

// No point of the frontier is worse in everything than the partitioner's placements or another.
TEST_F(PlacementSearchTest, PointsOfTheFrontierHaveMerits) {
  OwningOpRef<ModuleOp> module = gpt3();
  FoldedModel folded = foldLayers(*module);
  PlacementFrontier frontier(folded, request, {});
  Decisions d = decisions(8, true);
  std::optional<ModelCells> policy = readCells(folded, d.tp, true);
  ASSERT_TRUE(policy);
  const std::vector<PlacementPoint> &points = frontier.of(d.tp, true, *policy);
  ASSERT_FALSE(points.empty());
  std::vector<const ModelCells *> all{&*policy};
  for (const PlacementPoint &point : points)
    all.push_back(&point.cells);
  // Seconds, kept bytes, parameters and summed gradients of all parts.
  auto meritsOf = [&](const ModelCells &cells) {
    ModelCells applied = applyStack(cells, *request.software, request.precision.compute);
    ModelCost cost = costModel(applied, d, *topology, request.precision);
    std::array<double, 4> merits{};
    auto add = [&](const BlockCost &part) {
      merits[0] += secondsOf(part);
      merits[1] += part.kept;
      merits[2] += part.denseParameters;
      merits[3] += part.sharedGradients;
    };
    add(cost.embedding);
    add(cost.head);
    for (int block : cells.chain)
      add(cost.blocks[static_cast<size_t>(block)]);
    return merits;
  };
  for (const ModelCells *a : llvm::drop_begin(all)) // a point may beat the partitioner in all
    for (const ModelCells *b : all) {
      std::array<double, 4> x = meritsOf(*a), y = meritsOf(*b);
      auto isBetter = [](auto pair) { return std::get<0>(pair) < std::get<1>(pair); };
      EXPECT_TRUE(a == b || llvm::any_of(llvm::zip(x, y), isBetter));
    }
}

} // namespace
} // namespace dtc
