// Tests that every figure of a stack affects the cost of a step.
#include "compiler/describe/stack/StackFields.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/estimate/CellCost.h"
#include "compiler/price/workload/ApplyStack.h"
#include "test/unit/estimate/OwnStack.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

CellOp op(const char *name, WorkKind kind, CellPhase phase, uint8_t scale = 0) {
  CellOp op;
  op.name = name;
  op.kind = kind;
  op.phase = phase;
  op.m = op.n = op.k = 1024;
  op.batch = 4;
  op.batchScale = scale;
  op.flops = 2.0 * 1024 * 1024 * 1024 * 4;
  op.bytes.parts[0] = 1e9;
  op.looseBytes.parts[0] = 1e8;
  return op;
}

// Returns ops of each kind that stacks treat differently, on tokens of experts.
BlockCell cellOfEachKind() {
  BlockCell cell;
  cell.ops = {op("matmul", WorkKind::Product, CellPhase::Forward),
              op("grouped_matmul", WorkKind::Product, CellPhase::Forward,
                 ScalesWithExperts | ScalesWithCapacity),
              op("attention", WorkKind::Attention, CellPhase::Forward),
              op("attention_grad", WorkKind::Attention, CellPhase::BackwardInput),
              op("gelu", WorkKind::Memory, CellPhase::Forward),
              op("rms_norm", WorkKind::Memory, CellPhase::Forward),
              op("cross_entropy", WorkKind::Memory, CellPhase::Forward),
              op("moe_dispatch", WorkKind::Memory, CellPhase::Forward),
              op("slice", WorkKind::Memory, CellPhase::Forward),
              op("add", WorkKind::Memory, CellPhase::Forward),
              op("linear", WorkKind::Product, CellPhase::Forward),
              op("linear", WorkKind::Product, CellPhase::Forward),
              op("silu", WorkKind::Memory, CellPhase::Forward),
              op("rms_norm_param_grad", WorkKind::Memory, CellPhase::BackwardWeight)};
  cell.ops[4].joined = true;
  cell.ops[5].isComposite = true;
  cell.ops[6].isLoss = true;
  cell.ops[7].isDispatch = true;
  cell.ops[8].isInPlace = true;
  cell.ops[9].isEpilogue = true;
  cell.ops[9].unmovedBytes.parts[0] = 5e8;
  for (size_t product : {10, 11}) {
    cell.ops[product].joinsAt = 10;
    cell.ops[product].grows = &CellOp::n;
    cell.ops[product].sharedBytes.parts[0] = 4e8;
  }
  cell.ops[12].fusion = Fusion::Gate;
  cell.ops[13].fusion = Fusion::NormGradients;
  cell.ops[12].fusedBytes.parts[0] = cell.ops[13].fusedBytes.parts[0] = 3e8;
  cell.selectiveOps = {4, 5};
  cell.unreadOps = {0};
  cell.collectives.resize(1);
  cell.collectives[0].axis = CellAxis::Ep;
  cell.collectives[0].kind = CollectiveKind::AllToAll;
  cell.collectives[0].bytes.parts[0] = 1e9;
  cell.collectives[0].copies = 8;
  cell.input.parts[0] = 1e6;
  cell.kept.parts[0] = 1e9;
  cell.keptSelective.parts[0] = 5e8;
  cell.rmsNormInputs.parts[0] = 1e7;
  cell.attentionScores.parts[0] = 1e7;
  cell.logits.parts[0] = 1e8;
  cell.parameters.parts[0] = 1e8;
  return cell;
}

void add(std::vector<double> &felt, const BlockCost &cost) {
  felt.insert(felt.end(),
              {cost.forward, cost.backwardInput, cost.backwardWeight, cost.selective, cost.unread,
               cost.forwardEp, cost.kept, cost.keptSelective, cost.transient});
}

// Returns all costs of a step that depend on a stack: with blocked attention and without, in 16 and
// in 8 bits, and with a host that is slower than the kernels.
std::vector<double> feltOf(const SoftwareStack &stack) {
  Topology topology = *loadTopology("dgx-h100");
  AxisGroups groups;
  groups.tp = {{4, 1}};
  groups.ep = {{8, 1}};
  groups.heads = groups.keys = groups.dense = groups.expert = groups.pp = {{1, 1}};
  std::vector<double> felt;
  for (bool isBlocked : {false, true})
    for (Precision precision : {Precision::BF16, Precision::FP8}) {
      SoftwareStack variant = stack;
      variant.blockedAttention = isBlocked && stack.blockedAttention;
      CellPrecision p = cellPrecision(precision, OptimizerKind::AdamW, variant);
      ModelCells cells;
      cells.tp = 4;
      cells.sequenceParallel = true;
      cells.blocks = {cellOfEachKind()};
      ModelCells applied = applyStack(cells, variant, p.compute);
      BlockCell busy = applied.blocks[0]; // kernels are slower than the host
      busy.hostSeconds = busy.hostSecondsPerExpert = 0;
      add(felt, costBlock(busy, {}, groups, topology, p));
      // The host is slower than the kernels, except for a product of experts.
      BlockCell empty = applied.blocks[0];
      empty.ops.erase(empty.ops.begin() + 2, empty.ops.end());
      empty.selectiveOps.clear();
      empty.unreadOps.clear();
      for (CellOp &each : empty.ops)
        each.m = each.n = each.k = 1, each.flops = 1, each.bytes = each.looseBytes = {};
      add(felt, costBlock(empty, {}, groups, topology, p));
      const Overlap &o = applied.overlap;
      felt.insert(felt.end(), {o.tp, o.cp, o.ep, o.gradients, o.gathers, o.transfers, o.slowdown});
      felt.insert(felt.end(),
                  {applied.process.reserved, applied.process.perCommunicator,
                   applied.process.fragmentation, applied.gatherShare,
                   static_cast<double>(applied.gathersAgain), p.gradientBytes, p.reduceBytes,
                   applied.process.wholeLayers,
                   static_cast<double>(applied.process.keepsEmbeddingAndHead),
                   static_cast<double>(applied.process.keepsSent), p.bytesAtRest(3, false)});
    }
  return felt;
}

SoftwareStack base() {
  SoftwareStack stack = ownStack();
  stack.hostSecondsPerLayer = stack.hostSecondsPerExpert = 1e-3;
  stack.logitBytes = 8;
  return stack;
}

TEST(StackFigures, AreAllFelt) {
  const std::vector<double> before = feltOf(base());
  for (const StackFigure &figure : stackFigures()) {
    SoftwareStack other = base();
    double value = other.*figure.member;
    other.*figure.member = value == 0 || figure.quantity ? 2 * value + 0.25 : 1.25 * value;
    EXPECT_NE(feltOf(other), before) << figure.key.str();
  }
  for (const StackFlag &flag : stackFlags()) {
    SoftwareStack other = base();
    other.*flag.member = !(other.*flag.member);
    if (flag.table != "planner")
      EXPECT_NE(feltOf(other), before) << flag.key.str();
  }
}

} // namespace
} // namespace dtc
