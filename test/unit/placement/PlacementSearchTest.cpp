// Placements over tensor parallelism that are searched for.
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/search/planner/PlacementFrontier.h"

#include "compiler/price/workload/ApplyStack.h"
#include "models/Gpt2.h"
#include "models/Llama.h"
#include "passes/Pipelines.h"
#include "test/unit/estimate/OwnStack.h"
#include "test/unit/estimate/SmallMixture.h"

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
    request.precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, *request.software);
  }

  OwningOpRef<ModuleOp> gpt3() {
    Gpt2Config config;
    config.vocabulary = 51200;
    config.positions = 2048;
    config.width = 12288;
    config.layers = 2;
    config.heads = 96;
    return completed(buildGpt2(&context, config, 2048));
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
    config.rotary.base = 500000;
    config.experts = smallMixture(experts, config.innerWidth);
    return completed(buildLlama(&context, config, sequence));
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
    return PlacementSearcher(folded).cheapest(
        d.tp, d.sequenceParallel, worth, TensorPattern::Any,
        {groupsOf(d).tp, *topology, request.precision, *request.software});
  }

  MLIRContext context;
  std::optional<Topology> topology;
  EstimateRequest request;
};

// Megatron-LM's own choice (Shoeybi et al. 2019, arXiv:1909.08053): the first product of attention
// and MLP is split by columns, the second one by rows, and tables by words.
TEST_F(PlacementSearchTest, FindsMegatronsPattern) {
  OwningOpRef<ModuleOp> module = gpt3();
  FoldedModel folded = foldLayers(*module);
  for (int64_t tp : {2, 8})
    for (bool sequenceParallel : {false, true}) {
      std::optional<SearchedPlacements> found =
          PlacementSearcher(folded).megatron(tp, sequenceParallel);
      ASSERT_TRUE(found);
      auto dimOf = [&](const char *name) {
        const std::vector<int64_t> &dims = found->parameters.at(name);
        return dims.size() == 1 ? dims.front() : -1;
      };
      EXPECT_EQ(dimOf("transformer.h.{}.attn.c_attn.weight"), 2); // width x 3 x heads x head dim
      EXPECT_EQ(dimOf("transformer.h.{}.attn.c_proj.weight"), 0);
      EXPECT_EQ(dimOf("transformer.h.{}.mlp.c_fc.weight"), 1);
      EXPECT_EQ(dimOf("transformer.h.{}.mlp.c_proj.weight"), 0);
      EXPECT_EQ(dimOf("transformer.wte.weight"), 0);
    }
}

// Bytes of a layer that a rank sends, over (n - 1) / n of an activation. Megatron-LM has four
// all-reduces, two for each pair of products. With sequence parallelism it has a gather and a
// scatter for each, and two more gathers for the gradients of weights (Korthikanti et al. 2022,
// arXiv:2205.05198, section 4.2.2). The cheapest placement sends no more.
TEST_F(PlacementSearchTest, SendsNoMoreThanMegatron) {
  std::pair<OwningOpRef<ModuleOp>, double> models[] = {{gpt3(), 2048.0 * 12288 * 4},
                                                       {llama(2048), 2048.0 * 4096 * 4}};
  for (auto &[module, activation] : models) {
    FoldedModel folded = foldLayers(*module);
    for (int64_t tp : {2, 4, 8})
      for (bool sequenceParallel : {false, true}) {
        std::optional<ModelCells> cells = readCells(folded, tp, sequenceParallel);
        ASSERT_TRUE(cells);
        double sent = 0;
        for (const CellCollective &each : cells->blocks.front().collectives)
          if (each.axis == CellAxis::Tp)
            sent += each.bytes.at(CellScale()) * (each.kind == CollectiveKind::AllReduce ? 2 : 1);
        EXPECT_LE(sent / activation, (sequenceParallel ? 10 : 8) + 1e-9) << tp << sequenceParallel;
        EXPECT_GE(sent / activation, 4) << tp << sequenceParallel;
      }
  }
}

// A network that was solved for other prices gives the same answers as a new one, and the price of
// parameters has an effect.
TEST_F(PlacementSearchTest, IsBuiltOnceForAllWorths) {
  OwningOpRef<ModuleOp> module = llama(2048);
  FoldedModel folded = foldLayers(*module);
  PlacementSearcher searcher(folded);
  Decisions d = decisions(8, true);
  PlacementBasis basis{groupsOf(d).tp, *topology, request.precision, *request.software};
  SplitSearch network(searcher.differentiated(), d.tp, true, TensorPattern::Any, basis,
                      /*foldsExperts=*/false);
  auto wholeParameters = [](const SearchedPlacements &found) {
    return llvm::count_if(found.parameters, [](const auto &each) {
      return llvm::all_of(each.second, [](int64_t dim) { return dim < 0; });
    });
  };
  std::vector<SearchedPlacements> all;
  for (MemoryWorth worth : {MemoryWorth{}, {0, 1e-6}, {1e-6, 0}, {}}) {
    std::optional<SearchedPlacements> found = network.cheapest(worth);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, *cheapest(folded, d, worth));
    all.push_back(std::move(*found));
  }
  EXPECT_EQ(all.front(), all.back());
  EXPECT_LT(wholeParameters(all[1]), wholeParameters(all[0])); // a second per MB
}

// Folded experts are whole, whatever the price of memory is, and all ops on their tokens have a
// part of these; with 16 ranks for 8 kv heads, over both axes together. Everything else is split as
// usual.
TEST_F(PlacementSearchTest, LeavesFoldedExpertsWhole) {
  OwningOpRef<ModuleOp> module = llama(2048, /*experts=*/8);
  FoldedModel folded = foldLayers(*module);
  PlacementSearcher searcher(folded);
  for (int64_t tp : {2, 8, 16}) {
    Decisions d = decisions(tp, true);
    PlacementBasis basis{groupsOf(d).tp, *topology, request.precision, *request.software};
    std::optional<SearchedPlacements> all[] = {
        searcher.megatron(tp, true, /*foldsExperts=*/true),
        searcher.cheapest(tp, true, {0, 1e-6}, TensorPattern::Any, basis,
                          /*foldsExperts=*/true),
        searcher.cheapest(tp, true, {1e-6, 0}, TensorPattern::Any, basis,
                          /*foldsExperts=*/true)};
    for (const std::optional<SearchedPlacements> &found : all) {
      ASSERT_TRUE(found);
      int experts = 0, split = 0, dispatches = 0;
      for (const auto &[name, dims] : found->parameters) {
        bool isWhole = llvm::all_of(dims, [](int64_t dim) { return dim < 0; });
        bool isExpert = llvm::StringRef(name).contains("experts");
        experts += isExpert;
        split += !isWhole;
        EXPECT_FALSE(isExpert && !isWhole) << name << " " << tp;
      }
      EXPECT_EQ(experts, 3);
      for (const auto &[function, ops] : found->splits.functions)
        for (const OpSplits::Op &op : ops)
          if (op.name == "expert_linear" || op.name == "moe_dispatch" || op.name == "moe_combine") {
            ++dispatches;
            EXPECT_TRUE(op.choices.size() == 1 && op.choices.front() >= 0) << op.name << " " << tp;
          }
      EXPECT_EQ(dispatches, 3 + 3 + 4); // the gradient of each is one of another kind
      EXPECT_TRUE(split > 0 || &found != &all[0]);
      EXPECT_TRUE(readCells(folded, tp, true, *found, /*foldsExperts=*/true));
    }
  }
}

// Megatron gathers, with sequence parallelism, a norm's result twice. Keeping it is faster if there
// is memory for it.
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

// Memory for weights is free: every rank has its part of the sequence, as in DeepSpeed-Ulysses
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

// The model has 8 kv heads on 16 ranks: pairs of ranks hold the same kv head and run two of its
// four query heads each, so attention still shrinks with the ranks, as all products do.
TEST_F(PlacementSearchTest, SharesOutTheQueryHeadsOfAKvHead) {
  OwningOpRef<ModuleOp> module = llama(2048);
  FoldedModel folded = foldLayers(*module);
  for (bool sequenceParallel : {false, true}) {
    std::optional<ModelCells> eight = readCells(folded, 8, sequenceParallel);
    std::optional<ModelCells> sixteen = readCells(folded, 16, sequenceParallel);
    ASSERT_TRUE(eight && sixteen);
    auto flopsOf = [](const ModelCells &cells, WorkKind kind) {
      double flops = 0;
      for (const CellOp &op : cells.blocks.front().ops)
        flops += op.kind == kind ? op.flops : 0;
      return flops;
    };
    for (WorkKind kind : {WorkKind::Attention, WorkKind::Product})
      EXPECT_DOUBLE_EQ(flopsOf(*sixteen, kind), flopsOf(*eight, kind) / 2) << sequenceParallel;
    CellScale one;
    EXPECT_DOUBLE_EQ(2 * sixteen->blocks.front().parameters.at(one),
                     eight->blocks.front().parameters.at(one) + 2 * 4096); // norms are whole
    // Keys and values are gathered and their gradients summed in pairs of ranks. This costs little
    // beside activations, which have 32 times the bytes of a kv head's keys.
    double inPairs = 0;
    for (const CellCollective &each : sixteen->blocks.front().collectives) {
      if (each.part.size == 0 || sequenceParallel)
        continue;
      EXPECT_EQ(each.part.size, 2);
      EXPECT_EQ(each.part.stride, 1);
      inPairs += each.bytes.at(one);
    }
    double keys = 2048.0 * 128 * 4; // bytes of one kv head
    if (!sequenceParallel) {
      EXPECT_GE(inPairs, 4 * keys);
      EXPECT_LE(inPairs, 8 * keys);
    }
  }
}

// No point of the frontier is worse than another in every respect.
TEST_F(PlacementSearchTest, PointsOfTheFrontierHaveMerits) {
  OwningOpRef<ModuleOp> module = gpt3();
  FoldedModel folded = foldLayers(*module);
  CellStore store(folded);
  PlacementFrontier frontier(store, request, {});
  Decisions d = decisions(8, true);
  const std::vector<const PlacementPoint *> &points = frontier.of(d.tp, true);
  ASSERT_GT(points.size(), 1u);
  EXPECT_EQ(&points.front()->cells, store.get(d.tp, true));
  // The respects are seconds, kept bytes, parameters and summed gradients of all parts.
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
  for (const PlacementPoint *a : llvm::drop_begin(points)) // a point may beat Megatron's in all
    for (const PlacementPoint *b : points) {
      std::array<double, 4> x = meritsOf(a->cells), y = meritsOf(b->cells);
      auto isBetter = [](auto pair) { return std::get<0>(pair) < std::get<1>(pair); };
      EXPECT_TRUE(a == b || llvm::any_of(llvm::zip(x, y), isBetter));
    }
}

} // namespace
} // namespace dtc
