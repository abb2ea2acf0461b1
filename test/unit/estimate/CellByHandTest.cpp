// Blocks under context and expert parallelism, computed by hand: sizes from the shapes of small
// models.
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/price/estimate/ModelCost.h"
#include "compiler/search/planner/PlacementSearch.h"
#include "models/Gpt2.h"
#include "models/Llama.h"
#include "passes/Pipelines.h"
#include "test/unit/estimate/OwnStack.h"
#include "test/unit/estimate/SmallMixture.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

namespace dtc {
namespace {

// Returns a layer of 8 experts, two of which take a token.
LlamaConfig eightExperts() {
  LlamaConfig config;
  config.vocabulary = 64;
  config.width = 32;
  config.innerWidth = 48;
  config.layers = 1;
  config.heads = 4;
  config.kvHeads = 2;
  config.headDim = 8;
  config.experts = smallMixture(8, config.innerWidth);
  return config;
}

// Each amount scales with its own factors: samples, 1 / cp, 1 / ep, ep.
TEST(CostBlock, ScalesEachAmount) {
  BlockCell cell;
  cell.input.parts[ScalesWithBatch | ScalesWithSequence] = 100;
  cell.kept.parts[ScalesWithBatch | ScalesWithSequence] = 1000;
  cell.kept.parts[ScalesWithBatch | ScalesWithExperts | ScalesWithCapacity] = 600;
  cell.keptSelective.parts[ScalesWithBatch] = 300;
  cell.backwardTransient.parts[ScalesWithBatch] = 50;
  cell.parameters.parts[0] = 70;
  cell.parameters.parts[ScalesWithExperts] = 80;
  Topology topology = *loadTopology("dgx-h100", 1, 8);
  Decisions d;
  d.cp = 2;
  d.dp = 4;
  d.ep = 4;
  CellPrecision half;
  half.activationShare = 0.5;
  BlockCost cost =
      costBlock(cell, {/*samples=*/3, /*cp=*/2, /*ep=*/4}, groupsOf(d), topology, half);
  EXPECT_DOUBLE_EQ(cost.input, 0.5 * 3 * 100 / 2);
  EXPECT_DOUBLE_EQ(cost.kept, 0.5 * (3 * 1000 / 2.0 + 3 * 600));
  EXPECT_DOUBLE_EQ(cost.keptSelective, 0.5 * 3 * 300);
  EXPECT_DOUBLE_EQ(cost.transient, 0.5 * 3 * 50);
  EXPECT_DOUBLE_EQ(cost.denseParameters, 70);
  EXPECT_DOUBLE_EQ(cost.expertParameters, 80 / 4.0);
}

// Tensor-parallel collectives run beside matrix products if their sums are scattered and no network
// lies between: 16 GPUs are two DGX H100, and part of one rack of GB200.
TEST(OverlapOf, HidesTensorParallelismWithoutANetwork) {
  ModelCells cells;
  cells.sequenceParallel = true;
  cells.overlap.tp = 0.5;
  cells.overlap.cp = 0.25;
  auto tensor = [](const RankGroup &ranks) {
    AxisGroups groups;
    groups.tp = ranks;
    return groups;
  };
  Topology dgx = *loadTopology("dgx-h100", 2, 0), rack = *loadTopology("gb200-nvl72", 4, 0);
  EXPECT_EQ(overlapOf(cells, tensor({{8, 1}}), dgx).tp, 0.5);
  EXPECT_EQ(overlapOf(cells, tensor({{16, 1}}), dgx).tp, 0);
  EXPECT_EQ(overlapOf(cells, tensor({{2, 8}}), dgx).tp, 0); // a GPU of each node
  EXPECT_EQ(overlapOf(cells, tensor({{16, 1}}), rack).tp, 0.5);
  EXPECT_EQ(overlapOf(cells, tensor({{16, 1}}), dgx).cp, 0.25);
  cells.sequenceParallel = false;
  EXPECT_EQ(overlapOf(cells, tensor({{8, 1}}), dgx).tp, 0);
  EXPECT_EQ(overlapOf(cells, tensor({{8, 1}}), dgx).cp, 0.25);
  AxisGroups gathering = tensor({{8, 1}});
  gathering.gathersKeys = true;
  EXPECT_EQ(overlapOf(cells, gathering, dgx).cp, 0);
}

// In 8 bits a product of a layer takes the rate of 8 bits plus the casts; attention and products
// that stay wide take the rate of 16 bits.
TEST(CostBlock, MultipliesLinearLayersAloneIn8Bits) {
  Topology topology = *loadTopology("dgx-h100", 1, 8);
  CellPrecision narrow, half;
  narrow.compute = ComputeType::FP8;
  half.compute = ComputeType::BF16;
  narrow.activationShare = half.activationShare = 0.5;
  CellOp product;
  product.kind = WorkKind::Product;
  product.m = product.n = product.k = 8192;
  product.batch = 1;
  product.flops = 2.0 * 8192 * 8192 * 8192;
  product.bytes.parts[0] = 4.0 * 3 * 8192 * 8192; // three matrices of f32
  auto secondsOf = [&](const CellOp &op, const CellPrecision &precision) {
    return costOp(op, {}, topology, precision).seconds;
  };
  EXPECT_LT(secondsOf(product, narrow), 0.7 * secondsOf(product, half));
  CellOp wide = product;
  wide.staysWide = true;
  EXPECT_EQ(secondsOf(wide, narrow), secondsOf(product, half));
  CellOp cast = product;
  cast.castTraffic = 0.5; // Casts move half an element of 2 bytes at the memory's rate.
  OpWork moved;
  moved.bytes = 0.5 * 2.0 * 3 * 8192 * 8192;
  EXPECT_DOUBLE_EQ(secondsOf(cast, narrow),
                   secondsOf(product, narrow) + dtc::secondsOf(moved, topology.device));
}

// Collectives run among the ranks of their axis, and take the time of the bytes that they send
// there.
TEST(CostBlock, SendsAmongTheRanksOfTheAxis) {
  BlockCell cell;
  auto add = [&](CellAxis axis, CollectiveKind kind, CellPhase phase, uint8_t bits, double bytes) {
    CellCollective &collective = cell.collectives.emplace_back();
    collective.axis = axis;
    collective.kind = kind;
    collective.phase = phase;
    collective.bytes.parts[bits] = bytes;
  };
  add(CellAxis::Cp, CollectiveKind::AllGather, CellPhase::Forward, ScalesWithBatch, 1e8);
  add(CellAxis::Cp, CollectiveKind::ReduceScatter, CellPhase::BackwardInput, ScalesWithBatch, 2e8);
  add(CellAxis::Ep, CollectiveKind::AllToAll, CellPhase::Forward,
      ScalesWithBatch | ScalesWithSequence, 3e8);
  add(CellAxis::Tp, CollectiveKind::AllReduce, CellPhase::BackwardWeight, 0, 4e8);
  Topology topology = *loadTopology("dgx-h100", 1, 8);
  Decisions d; // cp inside dp: ep = 4 is cp and half of dp
  d.cp = 2;
  d.dp = 4;
  d.ep = 4;
  BlockCost cost = costBlock(cell, {3, 2, 4}, groupsOf(d), topology, CellPrecision());
  EXPECT_DOUBLE_EQ(cost.forwardCp,
                   collectiveSeconds(CollectiveKind::AllGather, 3e8, {{2, 1}}, topology));
  EXPECT_DOUBLE_EQ(cost.backwardCp,
                   collectiveSeconds(CollectiveKind::ReduceScatter, 6e8, {{2, 1}}, topology));
  EXPECT_DOUBLE_EQ(cost.forwardEp, collectiveSeconds(CollectiveKind::AllToAll, 3 * 3e8 / 2,
                                                     {{2, 1}, {2, 2}}, topology));
  EXPECT_EQ(cost.backwardTp, 0); // tp = 1
  EXPECT_EQ(cost.backwardEp, 0);
}

// Keys and values are 1e8 bytes in one tensor, and a rank has 3e8 bytes of all that attention reads
// and writes, on 8 ranks of 2 nodes. If parts of a sequence are swapped for heads, a rank has its
// share of the heads' keys.
TEST(CostBlock, SendsKeysOrSwapsHeads) {
  BlockCell cell;
  for (bool swapsHeads : {false, true})
    for (CellPhase phase : {CellPhase::Forward, CellPhase::BackwardInput}) {
      CellCollective &collective = cell.collectives.emplace_back();
      collective.axis = CellAxis::Cp;
      collective.kind = swapsHeads ? CollectiveKind::AllToAll : CollectiveKind::AllGather;
      collective.phase = phase;
      collective.swapsHeads = swapsHeads;
      collective.bytes.parts[swapsHeads ? ScalesWithSequence : 0] =
          phase == CellPhase::Forward ? (swapsHeads ? 3e8 : 1e8) : 2e8;
    }
  cell.forwardTransient.parts[0] = 5e8;
  Topology topology = loadTopology("dgx-h100", 2, 0)->slice(4, 8);
  auto costOf = [&](ContextKind kind, int64_t inner) {
    Decisions d;
    d.cp = 8;
    d.contextKind = kind;
    d.contextInner = inner;
    return costBlock(cell, {1, 8, 1}, groupsOf(d), topology, CellPrecision());
  };
  auto seconds = [&](CollectiveKind kind, double bytes, const RankGroup &group) {
    return collectiveSeconds(kind, bytes, group, topology);
  };
  BlockCost ring = costOf(ContextKind::Ring, 1);
  EXPECT_DOUBLE_EQ(ring.forwardCp, seconds(CollectiveKind::AllGather, 1e8, {{8, 1}}));
  EXPECT_DOUBLE_EQ(ring.backwardCp, seconds(CollectiveKind::AllGather, 2e8, {{8, 1}}));
  EXPECT_EQ(ring.forwardHeads + ring.backwardHeads, 0);
  EXPECT_EQ(ring.forwardTransient, 5e8);
  BlockCost swap = costOf(ContextKind::AllToAll, 1);
  EXPECT_EQ(swap.forwardCp + swap.backwardCp, 0);
  EXPECT_DOUBLE_EQ(swap.forwardHeads, seconds(CollectiveKind::AllToAll, 3e8 / 8, {{8, 1}}));
  EXPECT_DOUBLE_EQ(swap.backwardHeads, seconds(CollectiveKind::AllToAll, 2e8 / 8, {{8, 1}}));
  EXPECT_DOUBLE_EQ(swap.forwardCollectives(), swap.forwardHeads);
  // Four ranks swap, and two such groups have the same heads.
  BlockCost both = costOf(ContextKind::Both, 4);
  EXPECT_DOUBLE_EQ(both.forwardHeads, seconds(CollectiveKind::AllToAll, 3e8 / 8, {{4, 1}}));
  EXPECT_DOUBLE_EQ(both.forwardCp, seconds(CollectiveKind::AllGather, 1e8 / 4, {{2, 4}}));
  EXPECT_DOUBLE_EQ(both.backwardCp, seconds(CollectiveKind::AllGather, 2e8 / 4, {{2, 4}}));
  // All keys and values are gathered at once, and stay until attention has read them.
  BlockCost gather = costOf(ContextKind::AllGather, 1);
  EXPECT_EQ(gather.forwardCp, ring.forwardCp);
  EXPECT_EQ(gather.forwardTransient, 5e8 + 1e8);
  EXPECT_EQ(gather.transient, 5e8 + 2e8);
}

class CellsByHand : public testing::Test {
protected:
  CellsByHand() : context(mlir::MLIRContext::Threading::DISABLED) { loadDialects(context); }

  ModelCells cellsOf(mlir::OwningOpRef<mlir::ModuleOp> built) {
    module = completed(std::move(built));
    folded = foldLayers(*module);
    return *readCells(folded, 1, false);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  FoldedModel folded;
};

// One layer has 4 heads of 16 and their 64 x 128 tokens. For every cp, ranks gather the keys and
// the values of all 128 tokens, 2 tensors of 128 x 64 x 4 bytes, and again for the backward pass,
// which scatters the gradients of both. All other saved activations shrink with cp.
TEST_F(CellsByHand, ContextParallelismGathersWholeKeysAndValues) {
  Gpt2Config config;
  config.vocabulary = 64;
  config.positions = 128;
  config.width = 64;
  config.layers = 1;
  config.heads = 4;
  ModelCells cells = cellsOf(buildGpt2(&context, config, 128));
  const double tensor = 128 * 64 * 4;
  std::map<std::pair<CollectiveKind, CellPhase>, std::vector<double>> found;
  for (const CellCollective &each : cells.blocks.front().collectives) {
    ASSERT_EQ(each.axis, CellAxis::Cp);
    if (each.swapsHeads)
      continue;
    for (double cp : {1.0, 4.0})
      found[{each.kind, each.phase}].push_back(each.bytes.at({3, cp, 1}));
  }
  const std::vector<double> both(4, 3 * tensor);
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ((found[{CollectiveKind::AllGather, CellPhase::Forward}]), both);
  EXPECT_EQ((found[{CollectiveKind::AllGather, CellPhase::BackwardInput}]), both);
  EXPECT_EQ((found[{CollectiveKind::ReduceScatter, CellPhase::BackwardInput}]), both);
  const BlockCell &layer = cells.blocks.front();
  EXPECT_DOUBLE_EQ(layer.input.at({1, 4, 1}), tensor / 4);
  EXPECT_DOUBLE_EQ(layer.kept.at({1, 4, 1}), layer.kept.at({1, 1, 1}) / 4);
  EXPECT_DOUBLE_EQ(layer.parameters.at({1, 4, 1}), layer.parameters.at({1, 1, 1}));
}

// One layer has 4 heads of 16, 2 of them for keys, and their 64 x 128 tokens. Queries, keys and
// values go out to the ranks of their heads and the output comes back; backward its gradient goes
// out, and theirs come back. Each rank sends its part of the sequence.
TEST_F(CellsByHand, SwapsPartsOfSequencesForHeads) {
  LlamaConfig config;
  config.vocabulary = 64;
  config.width = 64;
  config.innerWidth = 128;
  config.layers = 1;
  config.heads = 4;
  config.kvHeads = 2;
  config.headDim = 16;
  ModelCells cells = cellsOf(buildLlama(&context, config, 128));
  std::map<CellPhase, std::vector<double>> found;
  for (const CellCollective &each : cells.blocks.front().collectives)
    if (each.swapsHeads) {
      EXPECT_EQ(each.kind, CollectiveKind::AllToAll);
      EXPECT_EQ(each.axis, CellAxis::Cp);
      ASSERT_EQ(each.of.size(), 1u);
      EXPECT_EQ(cells.blocks.front().ops[static_cast<size_t>(each.of[0])].kind,
                WorkKind::Attention);
      found[each.phase].push_back(each.bytes.at({3, 2, 1}));
    }
  const double queries = 3 * 128 * 64 * 4 / 2.0, keys = queries / 2;
  EXPECT_EQ(found[CellPhase::Forward], (std::vector<double>{queries, keys, keys, queries}));
  EXPECT_EQ(found[CellPhase::BackwardInput], (std::vector<double>{queries, queries, keys, keys}));
}

// A layer has 8 experts of 3 matrices 32 x 48: 36864 parameters that ep divides. Beside them it has
// attention with 2 of 4 heads for keys (32 x 32 twice, 16 x 32 twice), the router's 8 x 32 and two
// norms of 32.
TEST_F(CellsByHand, ExpertParallelismDividesTheExpertsAlone) {
  ModelCells cells = cellsOf(buildLlama(&context, eightExperts(), 128));
  Topology topology = *loadTopology("dgx-h100", 1, 8);
  for (int64_t ep : {1, 2, 8}) {
    Decisions d;
    d.dp = 8;
    d.ep = ep;
    ModelCost cost = costModel(cells, d, topology, CellPrecision());
    EXPECT_DOUBLE_EQ(cost.blocks.front().expertParameters,
                     8 * 3 * 32 * 48 / static_cast<double>(ep));
    EXPECT_DOUBLE_EQ(cost.blocks.front().denseParameters,
                     2 * 32 * 32 + 2 * 16 * 32 + 8 * 32 + 2 * 32);
    EXPECT_EQ(cost.blocks.front().forwardEp > 0, ep > 1);
  }
  // Dispatch and combine move 128 tokens of 32 numbers to two experts each, and so do their
  // gradients.
  int dispatches[2] = {};
  for (const CellCollective &each : cells.blocks.front().collectives)
    if (each.axis == CellAxis::Ep) {
      EXPECT_EQ(each.kind, CollectiveKind::AllToAll);
      EXPECT_DOUBLE_EQ(each.bytes.at({1, 1, 4}), 2 * 128 * 32 * 4);
      EXPECT_DOUBLE_EQ(each.copies, 2);
      ++dispatches[each.phase != CellPhase::Forward];
    }
  EXPECT_EQ(dispatches[0], 2);
  EXPECT_EQ(dispatches[1], 2);
}

// Folded over tp = 2 the same experts are whole, and a rank dispatches half of the sequence's
// tokens: 64 of 32 numbers to two experts each. Nothing else of them goes between the ranks of tp,
// and no gradient.
TEST_F(CellsByHand, FoldedExpertsAreWholeAndTakeTheTokensOfARank) {
  (void)cellsOf(buildLlama(&context, eightExperts(), 128)); // sets `folded`
  std::optional<ModelCells> split = readCells(folded, 2, true),
                            whole = readCells(folded, 2, true, /*foldsExperts=*/true);
  ASSERT_TRUE(split && whole);
  Topology topology = *loadTopology("dgx-h100", 1, 8);
  Decisions d;
  d.tp = 2;
  d.dp = 4;
  d.sequenceParallel = true;
  const double experts = 8 * 3 * 32 * 48;
  for (int64_t ep : {1, 2, 4}) {
    d.ep = ep;
    BlockCost cost = costModel(*split, d, topology, CellPrecision()).blocks.front();
    EXPECT_DOUBLE_EQ(cost.expertParameters, experts / 2 / static_cast<double>(ep));
  }
  d.foldedExperts = true;
  for (int64_t ep : {1, 2, 4, 8}) {
    d.ep = ep;
    BlockCost cost = costModel(*whole, d, topology, CellPrecision()).blocks.front();
    EXPECT_DOUBLE_EQ(cost.expertParameters, experts / static_cast<double>(ep));
    EXPECT_EQ(cost.forwardEp > 0, ep > 1);
  }
  const BlockCell &layer = whole->blocks.front();
  Overlap ofEach;
  ofEach.tp = 0.5;
  ofEach.cp = 0.25;
  ofEach.ep = 0.125;
  int dispatches = 0;
  for (const CellCollective &each : layer.collectives)
    if (each.axis == CellAxis::Ep) {
      EXPECT_DOUBLE_EQ(each.bytes.at({1, 1, 4}), 2 * 64 * 32 * 4);
      EXPECT_DOUBLE_EQ(each.copies, 2);
      EXPECT_EQ(hiddenShareOf(each, ofEach), ofEach.ep);
      ++dispatches;
    } else if (each.axis == CellAxis::Cp) {
      EXPECT_EQ(hiddenShareOf(each, ofEach), each.swapsHeads ? 0 : ofEach.cp);
    } else if (each.axis == CellAxis::Tp) {
      EXPECT_EQ(hiddenShareOf(each, ofEach), ofEach.tp);
    }
  EXPECT_EQ(dispatches, 4);
  // There are three products forward and six backward, of 2 x 128 rows: as many as with split
  // experts, for every ep.
  const double flops = 2 * (2 * 128 / 2.0) * 32 * 48;
  const CellScale ofFour{1, 1, /*ep=*/4};
  double all = 0;
  for (const CellOp &op : layer.ops)
    if (isOfExperts(op)) {
      EXPECT_DOUBLE_EQ(op.flops * ofFour.factor(op.flopsScale), flops);
      all += op.flops;
    }
  EXPECT_DOUBLE_EQ(all, 9 * flops);
  // Tensor ranks reduce no gradients of experts once a step, since the other copies of experts are
  // on ranks of dp.
  for (size_t bits = 0; bits < numScaleSets; ++bits)
    EXPECT_TRUE(!(bits & ScalesWithExperts) || layer.sharedGradients.parts[bits] == 0);
  // Two groups of 64 tokens are too few for four ranks.
  EXPECT_FALSE(readCells(folded, 4, true, /*foldsExperts=*/true));
}

// Returns a text such as "4 at 1" for 4 ranks with a stride of 1.
std::string textOf(const RankGroup &group) {
  std::string text;
  for (const RankSpan &span : group)
    text += (text.empty() ? "" : ", ") + std::to_string(span.size) + " at " +
            std::to_string(span.stride);
  return text;
}

// The ranks are tp = 4, then cp = 2, then dp = 4, with strides 1, 4 and 8. Experts are spread over
// the innermost ranks, whatever their axis, and each expert is on the ranks that are left.
TEST(GroupsOf, SpreadsFoldedExpertsOverTensorRanksFirst) {
  Decisions d;
  d.tp = 4;
  d.cp = 2;
  d.dp = 4;
  d.foldedExperts = true;
  auto groups = [&](int64_t ep) {
    d.ep = ep;
    AxisGroups all = groupsOf(d);
    return textOf(all.ep) + "; " + textOf(all.expert);
  };
  EXPECT_EQ(groups(1), "1 at 1; 4 at 1, 2 at 4, 4 at 8");
  EXPECT_EQ(groups(2), "2 at 1; 2 at 2, 2 at 4, 4 at 8");
  EXPECT_EQ(groups(8), "4 at 1, 2 at 4; 4 at 8");
  EXPECT_EQ(groups(32), "4 at 1, 2 at 4, 4 at 8; 1 at 1");
  EXPECT_EQ(textOf(groupsOf(d).dense), "2 at 4, 4 at 8");
  d.foldedExperts = false;
  EXPECT_EQ(groups(2), "2 at 4; 4 at 8");
  d.foldedExperts = true;
  d.order = {'d', 't', 'c', 'p'};
  EXPECT_EQ(groups(8), "4 at 1, 2 at 4; 2 at 8, 2 at 16");
}

} // namespace
} // namespace dtc
