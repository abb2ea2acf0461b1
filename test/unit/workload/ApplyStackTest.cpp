// Tests how a software stack changes cells.
#include "compiler/price/workload/ApplyStack.h"
#include "compiler/describe/stack/LoadStack.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

CellOp op(const char *name, WorkKind kind, CellPhase phase = CellPhase::Forward) {
  CellOp op;
  op.name = name;
  op.kind = kind;
  op.phase = phase;
  return op;
}

// A layer of a norm, a product, attention, its gradient, and an op that is fused with the one
// before.
ModelCells layer() {
  ModelCells cells;
  cells.tp = 4;
  BlockCell block;
  block.ops = {op("rms_norm", WorkKind::Memory), op("matmul", WorkKind::Product),
               op("attention", WorkKind::Attention),
               op("attention_grad", WorkKind::Attention, CellPhase::BackwardInput),
               op("gelu", WorkKind::Memory)};
  block.ops[0].isComposite = true;
  block.ops[4].joined = true;
  block.kept.parts[0] = 100;
  block.keptSelective.parts[0] = 60;
  block.attentionScores.parts[0] = 7;
  block.selectiveOps = {0, 4};
  cells.blocks = {block};
  return cells;
}

SoftwareStack own() { return *loadStack("dtc"); }

BlockCell blockUnder(const SoftwareStack &stack, ComputeType compute = ComputeType::BF16) {
  return applyStack(layer(), stack, compute).blocks.front();
}

TEST(ApplyStack, LeavesWhatTheGraphSaysToDtc) {
  BlockCell block = blockUnder(own());
  for (const CellOp &op : block.ops) {
    EXPECT_EQ(op.rateShare, 1);
    EXPECT_EQ(op.traffic, 1);
    EXPECT_EQ(op.looseTraffic, 0);
    EXPECT_TRUE(op.isBlocked);
    EXPECT_EQ(op.castTraffic, 0);
    EXPECT_EQ(op.imbalance, 1);
  }
  EXPECT_TRUE(block.ops[4].joined);
  EXPECT_EQ(block.selectiveOps, (std::vector<int>{0, 4}));
  EXPECT_EQ(block.attentionScores.at({}), 0); // never in memory
  EXPECT_EQ(block.keptShare, 1);
}

TEST(ApplyStack, MovesMoreWhereOpsAreNotJoined) {
  SoftwareStack stack = own();
  stack.joinsPointwise = false;
  stack.memoryTraffic = 1.5;
  stack.compositeTraffic = 4;
  BlockCell block = blockUnder(stack);
  EXPECT_FALSE(block.ops[4].joined);
  EXPECT_EQ(block.ops[4].traffic, 1.5);
  EXPECT_EQ(block.ops[4].looseTraffic, 1.5);
  EXPECT_EQ(block.ops[0].traffic, 6); // traffic of each of four passes
  EXPECT_EQ(block.ops[1].traffic, 1); // a product has its own traffic only
}

// Blocked attention has a rate of its own in the stack. Without blocks it has the rate of products,
// scores are kept, and selective recomputation computes them again in addition to the cheap ops.
TEST(ApplyStack, KeepsScoresWhereAttentionIsNotBlocked) {
  SoftwareStack stack = own();
  stack.attentionShare = 0.5;
  stack.productShare = 0.75;
  EXPECT_EQ(blockUnder(stack).ops[2].rateShare, 0.5);
  stack.blockedAttention = false;
  BlockCell block = blockUnder(stack);
  EXPECT_EQ(block.ops[2].rateShare, 0.75);
  EXPECT_FALSE(block.ops[2].isBlocked);
  EXPECT_EQ(block.ops[2].scoreTraffic, stack.scoreTraffic);
  EXPECT_EQ(block.attentionScores.at({}), 7);
  EXPECT_EQ(block.selectiveOps, (std::vector<int>{0, 4, 2}));
  EXPECT_EQ(block.keptSelective.at({}), 60);
}

// Korthikanti et al. 2022: attention is computed again, and everything else is kept.
TEST(ApplyStack, RecomputesAttentionAloneWhereTheStackDoes) {
  SoftwareStack stack = own();
  stack.selectiveAttention = true;
  stack.rmsNormKept = 3;
  BlockCell block = blockUnder(stack);
  EXPECT_EQ(block.selectiveOps, (std::vector<int>{2}));
  EXPECT_EQ(block.keptSelective.at({}), 100);
  EXPECT_EQ(block.normKeptSelective, 3);
  stack.selectiveAttention = false;
  EXPECT_EQ(blockUnder(stack).normKeptSelective, 0);
}

TEST(ApplyStack, CastsAndKeepsLessIn8Bits) {
  SoftwareStack stack = own();
  stack.castTraffic = 0.5;
  stack.keptShare = 0.5;
  stack.keptShare8 = 0.25;
  EXPECT_EQ(blockUnder(stack).ops[1].castTraffic, 0);
  EXPECT_EQ(blockUnder(stack).keptShare, 0.5);
  BlockCell block = blockUnder(stack, ComputeType::FP8);
  EXPECT_EQ(block.ops[1].castTraffic, 0.5);
  EXPECT_EQ(block.ops[2].castTraffic, 0); // attention stays in 16 bits
  EXPECT_EQ(block.keptShare, 0.125);
}

// Logits are made in 16 bits whatever the layers use.
TEST(ApplyStack, KeepsTheOutputLayerWide) {
  ModelCells cells = layer();
  cells.head = cells.blocks.front();
  SoftwareStack stack = own();
  stack.castTraffic = 0.5;
  ModelCells applied = applyStack(cells, stack, ComputeType::FP8);
  EXPECT_TRUE(applied.head.ops[1].staysWide);
  EXPECT_EQ(applied.head.ops[1].castTraffic, 0);
  EXPECT_FALSE(applied.blocks[0].ops[1].staysWide);
  EXPECT_EQ(applied.blocks[0].ops[1].castTraffic, 0.5);
}

TEST(ApplyStack, GathersLogitsOfTheGroup) {
  SoftwareStack stack = own();
  stack.logitBytes = 20;
  EXPECT_EQ(blockUnder(stack).logitBytes, 20);
  stack.gathersLogits = true;
  EXPECT_EQ(blockUnder(stack).logitBytes, 80);
}

TEST(ApplyStack, WaitsForTheFullestExpert) {
  SoftwareStack stack = own();
  stack.expertImbalance = 2;
  stack.groupedShare = 0.5;
  stack.productShare = 0.5;
  CellOp product = op("grouped_matmul", WorkKind::Product);
  product.batchScale = ScalesWithExperts;
  product.mScale = ScalesWithCapacity;
  EXPECT_EQ(applyStack(product, stack, ComputeType::BF16).imbalance, 2);
  EXPECT_EQ(applyStack(product, stack, ComputeType::BF16).rateShare, 0.25);
  CellOp router = op("matmul", WorkKind::Product);
  EXPECT_EQ(applyStack(router, stack, ComputeType::BF16).imbalance, 1);
  EXPECT_EQ(applyStack(router, stack, ComputeType::BF16).rateShare, 0.5);
}

// Tokens are sent to split experts and back: each of 4 tensor ranks sends its quarter, 10 of 40
// bytes. They are gathered and scattered in place of what the partition sends for experts alone.
// The operands of the router stay, and nothing changes if ranks have whole sequences or whole
// experts.
TEST(ApplyStack, GathersRowsBetweenTensorRanks) {
  ModelCells cells = layer();
  cells.sequenceParallel = true;
  BlockCell &block = cells.blocks[0];
  block.ops = {op("matmul", WorkKind::Product), op("moe_dispatch", WorkKind::Memory),
               op("expert_linear", WorkKind::Product), op("moe_combine", WorkKind::Memory)};
  block.ops[1].isDispatch = block.ops[3].isDispatch = true;
  block.ops[2].batchScale = ScalesWithExperts;
  auto add = [&](CellAxis axis, CollectiveKind kind, std::vector<int> of,
                 bool isToExperts = false) {
    CellCollective &each = block.collectives.emplace_back();
    each.axis = axis;
    each.kind = kind;
    each.bytes.parts[ScalesWithBatch | ScalesWithCapacity] = 40;
    each.of = std::move(of);
    each.isToExperts = isToExperts;
  };
  add(CellAxis::Tp, CollectiveKind::AllGather, {0, 1}); // also for the router
  add(CellAxis::Tp, CollectiveKind::AllGather, {1});
  add(CellAxis::Ep, CollectiveKind::AllToAll, {1}, /*isToExperts=*/true);
  add(CellAxis::Tp, CollectiveKind::AllReduce, {2});
  add(CellAxis::Ep, CollectiveKind::AllToAll, {3});
  add(CellAxis::Tp, CollectiveKind::ReduceScatter, {3});
  auto kindsUnder = [&](const SoftwareStack &stack) {
    std::vector<std::tuple<CellAxis, CollectiveKind, double>> kinds;
    ModelCells applied = applyStack(cells, stack, ComputeType::BF16);
    for (const CellCollective &each : applied.blocks[0].collectives)
      kinds.emplace_back(each.axis, each.kind, each.bytes.at({1, 1, 1}));
    return kinds;
  };
  SoftwareStack stack = own();
  auto before = kindsUnder(stack);
  EXPECT_EQ(before.size(), 6u);
  stack.gathersRows = true;
  EXPECT_EQ(kindsUnder(stack), (std::vector<std::tuple<CellAxis, CollectiveKind, double>>{
                                   {CellAxis::Tp, CollectiveKind::AllGather, 40},
                                   {CellAxis::Ep, CollectiveKind::AllToAll, 10},
                                   {CellAxis::Ep, CollectiveKind::AllToAll, 10},
                                   {CellAxis::Tp, CollectiveKind::AllGather, 40},
                                   {CellAxis::Tp, CollectiveKind::ReduceScatter, 40}}));
  cells.sequenceParallel = false;
  EXPECT_EQ(kindsUnder(stack), before);
  cells.sequenceParallel = cells.foldsExperts = true;
  EXPECT_EQ(kindsUnder(stack), before);
}

TEST(ApplyStack, SendsTokensOnceInExchangesAlone) {
  ModelCells cells = layer();
  cells.blocks[0].collectives.resize(2);
  cells.blocks[0].collectives[0].axis = CellAxis::Ep;
  SoftwareStack stack = own();
  stack.sendsTokensOnce = true;
  ModelCells applied = applyStack(cells, stack, ComputeType::BF16);
  EXPECT_TRUE(applied.blocks[0].collectives[0].sendsOnce);
  EXPECT_FALSE(applied.blocks[0].collectives[1].sendsOnce);
}

} // namespace
} // namespace dtc
