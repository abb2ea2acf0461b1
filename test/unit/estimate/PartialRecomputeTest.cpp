// Saved activations, recomputed ops and repeated collectives of a layer of Llama for each kind of
// recomputation, computed by hand.
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/estimate/CellCost.h"
#include "compiler/price/estimate/ModelCost.h"
#include "compiler/price/workload/ApplyStack.h"
#include "test/unit/estimate/OwnStack.h"
#include "test/unit/estimate/SmallLayers.h"

#include <map>

namespace dtc {
namespace {

// Bytes in f32 of 128 tokens of width 64, and of 256 within the feed-forward part; a number for
// each token, or for each of its 4 heads.
constexpr double kRows = 128 * 64 * 4, kInner = 128 * 256 * 4, kToken = 128 * 4;

class PartialRecompute : public SmallLayers {
protected:
  static double keptBy(const BlockCell &cell, Recompute how) {
    return cell.keptPartial[partialIndex(how)].at({});
  }

  // Returns the number of recomputed products and attention ops, by name and parameter.
  static std::map<std::string, int> productsBy(const BlockCell &cell, Recompute how) {
    std::map<std::string, int> names;
    for (const CellOp &op : cell.ops)
      if (op.kind != WorkKind::Memory && op.runsAgain[partialIndex(how)])
        ++names[op.name];
    return names;
  }

  static int sentAgain(const BlockCell &cell, Recompute how, CellAxis axis) {
    return static_cast<int>(llvm::count_if(cell.collectives, [&](const CellCollective &each) {
      return each.axis == axis && each.runsAgain[partialIndex(how)];
    }));
  }
};

using Names = std::map<std::string, int>;

} // namespace

// Selective recomputation keeps the input, queries, keys and values, attention's result with the
// logarithm of each row's sum, the residual between (one product), gate and up. SelectiveAttention
// keeps the same without attention's result and sums, SelectiveLinear only these and the input.
TEST_F(PartialRecompute, KeepsWhatGroupsDoNotMake) {
  BlockCell cell = llamaLayer(0);
  double sums = 4 * kToken, selective = cell.keptSelective.at({});
  EXPECT_DOUBLE_EQ(selective, (1 + 3 + 1 + 1) * kRows + 2 * kInner + sums);
  EXPECT_DOUBLE_EQ(keptBy(cell, Recompute::SelectiveAttention), selective - kRows - sums);
  EXPECT_DOUBLE_EQ(keptBy(cell, Recompute::SelectiveLinear), 2 * kRows + sums);
  EXPECT_DOUBLE_EQ(keptBy(cell, Recompute::SelectiveDense), kRows);
  // These kinds are the same if there are no experts.
  EXPECT_DOUBLE_EQ(keptBy(cell, Recompute::SelectiveExperts), selective);
  EXPECT_DOUBLE_EQ(keptBy(cell, Recompute::SelectiveAll), kRows);
}

// The last product makes the layer's result, which the backward pass does not read.
TEST_F(PartialRecompute, RunsGroupsAgain) {
  BlockCell cell = llamaLayer(0);
  EXPECT_EQ(productsBy(cell, Recompute::SelectiveAttention), (Names{{"attention", 1}}));
  EXPECT_EQ(productsBy(cell, Recompute::SelectiveLinear), (Names{{"linear", 6}}));
  EXPECT_EQ(productsBy(cell, Recompute::SelectiveDense), (Names{{"attention", 1}, {"linear", 6}}));
  EXPECT_EQ(productsBy(cell, Recompute::SelectiveExperts), Names{});
  // SelectiveAll recomputes as full recomputation does, except for ops that no gradient needs.
  size_t full = 0, all = 0;
  for (auto [index, op] : llvm::enumerate(cell.ops)) {
    full += op.phase == CellPhase::Forward &&
            !llvm::is_contained(cell.unreadOps, static_cast<int>(index));
    all += op.runsAgain[partialIndex(Recompute::SelectiveAll)];
  }
  EXPECT_EQ(all, full);
}

// Products of experts are a group of their own.
TEST_F(PartialRecompute, ExpertsAreAGroup) {
  BlockCell cell = llamaLayer(4);
  Names dense = productsBy(cell, Recompute::SelectiveLinear),
        experts = productsBy(cell, Recompute::SelectiveExperts),
        products = productsBy(cell, Recompute::SelectiveProducts);
  EXPECT_EQ(dense, (Names{{"linear", 5}})); // products of attention, and the router's
  EXPECT_EQ(experts, (Names{{"expert_linear", 3}}));
  EXPECT_EQ(products, (Names{{"linear", 5}, {"expert_linear", 3}}));
  // Tokens stay with their experts: only full recomputation dispatches them again.
  for (auto [index, op] : llvm::enumerate(cell.ops))
    if (op.isDispatch && op.phase == CellPhase::Forward) {
      EXPECT_FALSE(op.runsAgain.any());
      EXPECT_FALSE(llvm::is_contained(cell.selectiveOps, static_cast<int>(index)));
    }
  EXPECT_EQ(sentAgain(cell, Recompute::SelectiveAll, CellAxis::Ep), 0);
  EXPECT_LT(keptBy(cell, Recompute::SelectiveExperts), cell.keptSelective.at({}));
  EXPECT_LT(keptBy(cell, Recompute::SelectiveProducts), keptBy(cell, Recompute::SelectiveExperts));
}

// Tensor-parallel collectives are repeated, except for the last, whose product is not recomputed.
TEST_F(PartialRecompute, CollectivesFollowProducts) {
  BlockCell summed = llamaLayer(0, 2), split = llamaLayer(0, 2, true);
  for (Recompute how : {Recompute::SelectiveAttention, Recompute::SelectiveExperts}) {
    EXPECT_EQ(sentAgain(summed, how, CellAxis::Tp), 0);
    EXPECT_EQ(sentAgain(split, how, CellAxis::Tp), 0);
  }
  for (const BlockCell *cell : {&summed, &split}) {
    auto isForward = [](const CellCollective &each) {
      return each.axis == CellAxis::Tp && each.phase == CellPhase::Forward;
    };
    auto forward = static_cast<int>(llvm::count_if(cell->collectives, isForward));
    EXPECT_EQ(forward, cell == &summed ? 2 : 5);
    EXPECT_EQ(sentAgain(*cell, Recompute::SelectiveLinear, CellAxis::Tp), forward - 1);
  }
  // Keys of other ranks are for attention alone.
  EXPECT_EQ(sentAgain(summed, Recompute::SelectiveLinear, CellAxis::Cp), 0);
  EXPECT_GT(sentAgain(summed, Recompute::SelectiveAttention, CellAxis::Cp), 0);
}

// Seconds and bytes are sums over ops: in 16 bits half of the bytes of f32.
TEST_F(PartialRecompute, IsCostedOpByOp) {
  ModelCells cells;
  cells.blocks = {llamaLayer(0)};
  SoftwareStack stack = *loadStack("dtc-gpu");
  BlockCell cell = applyStack(std::move(cells), stack, ComputeType::BF16).blocks.front();
  Topology topology = *loadTopology("dgx-h100", 1, 1);
  CellPrecision precision = cellPrecision(Precision::BF16, OptimizerKind::AdamW, stack);
  BlockCost cost = costWork(cell, {8}, topology, precision);
  for (size_t partial = 0; partial < kNumPartials; ++partial) {
    double seconds = 0;
    for (const CellOp &op : cell.ops)
      seconds += op.runsAgain[partial] ? costOp(op, {8}, topology, precision).seconds : 0;
    EXPECT_DOUBLE_EQ(cost.partial[partial].compute, seconds);
    EXPECT_DOUBLE_EQ(cost.partial[partial].kept, cell.keptPartial[partial].at({8}) / 2);
  }
}

// Over tensor and context parallelism, the repeated seconds are those of the repeated collectives.
TEST_F(PartialRecompute, SendsWhatFollowsOps) {
  BlockCell cell = llamaLayer(0, 2, true);
  Topology topology = *loadTopology("dgx-h100", 1, 8);
  CellPrecision precision =
      cellPrecision(Precision::BF16, OptimizerKind::AdamW, *loadStack("dtc-gpu"));
  Decisions d;
  d.tp = d.cp = 2;
  AxisGroups groups = groupsOf(d);
  CellScale scale{1, 2, 1};
  BlockCost cost = costBlock(cell, scale, groups, topology, precision);
  double most = 0;
  for (size_t partial = 0; partial < kNumPartials; ++partial) {
    double tp = 0, cp = 0;
    for (const CellCollective &each : cell.collectives) {
      RankGroup group = groupOf(each, groups);
      double bytes = collectiveBytes(each, scale, groups, topology, precision);
      if (each.runsAgain[partial])
        (each.axis == CellAxis::Tp ? tp : cp) +=
            collectiveSeconds(each.kind, bytes, group, topology);
    }
    EXPECT_DOUBLE_EQ(cost.partial[partial].collectives.tp, tp);
    EXPECT_DOUBLE_EQ(cost.partial[partial].collectives.cp, cp);
    most = std::max(most, std::min(tp, cp));
  }
  EXPECT_GT(most, 0);
  // Only attention gathers keys again; cheap ops send nothing.
  EXPECT_EQ(cost.selectiveCollectives.cp, 0);
  EXPECT_EQ(cost.partial[partialIndex(Recompute::SelectiveLinear)].collectives.cp, 0);
  EXPECT_GT(cost.partial[partialIndex(Recompute::SelectiveAttention)].collectives.cp, 0);
}

// ZeRO-3 gathers all weights for backward. If products are recomputed, it also gathers the biases
// of queries, keys and values, of attention's result and within the feed-forward part; if any
// products may be, the biases of both norms as well. Otherwise results that would need a gather are
// saved.
TEST_F(PartialRecompute, GathersWhatRunsAgain) {
  BlockCell cell = gpt2Layer();
  CellScale one;
  double backward = cell.gatheredBackward.at(one), norms = 2 * 64,
         products = norms + 3 * 64 + 64 + 4 * 64;
  auto gathered = [&](Recompute how) {
    return cell.gatheredPartial[partialIndex(how)].at(one) - backward;
  };
  EXPECT_EQ(gathered(Recompute::SelectiveAttention), 0);
  EXPECT_EQ(gathered(Recompute::SelectiveExperts), norms);
  EXPECT_EQ(gathered(Recompute::SelectiveLinear), products);
  EXPECT_EQ(gathered(Recompute::SelectiveAll), products);
  EXPECT_EQ(cell.gatheredFull.at(one) - backward, products);
}

} // namespace dtc
