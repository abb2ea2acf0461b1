// The bound on any plan, computed by hand.
#include "compiler/price/estimate/Relaxation.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/OpCost.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

CellOp memoryOp(double bytesOfSample, double bytesOnce) {
  CellOp op;
  op.bytes.parts[ScalesWithBatch] = bytesOfSample;
  op.bytes.parts[0] = bytesOnce;
  return op;
}

// Returns an op of 1024 x samples rows.
CellOp productOp(WorkKind kind) {
  CellOp op;
  op.kind = kind;
  op.m = 1024;
  op.n = 2048;
  op.k = 128;
  op.batch = 4;
  op.mScale = op.flopsScale = ScalesWithBatch;
  op.flops = 2.0 * 4 * 1024 * 2048 * 128;
  return op;
}

double leastOfMemory(double bytes, const Topology &topology) {
  OpWork work;
  work.bytes = bytes;
  return leastSecondsOf(work, topology.device);
}

double leastOfFlops(WorkKind kind, double flops, const Topology &topology) {
  OpWork work = productWork(1024, 2048, 128, 4, ComputeType::BF16);
  work.kind = kind;
  work.flops = flops;
  return leastSecondsOf(work, topology.device);
}

CellPrecision bf16() {
  CellPrecision precision;
  precision.compute = ComputeType::BF16;
  precision.activationShare = 0.5;
  return precision;
}

// 48 samples over 16 devices on two nodes are 3 a device, for embedding, head and layers, each as
// often as it is in the chain. Bytes that an op reads once for all samples do not count.
TEST(Relaxation, SpreadsTheWorkOfEverySample) {
  Topology topology = *loadTopology("dgx-h100", 2, 0);
  ModelCells cells;
  cells.embedding.ops = {memoryOp(1e9, 5e9)};
  cells.head.ops = {memoryOp(2e9, 0)};
  cells.blocks.resize(2);
  cells.blocks[0].ops = {memoryOp(4e9, 0)};
  cells.blocks[1].ops = {memoryOp(8e9, 0), memoryOp(16e9, 0)};
  cells.chain = {0, 1, 0};
  EXPECT_DOUBLE_EQ(relaxedStepSeconds(cells, 48, topology, bf16()),
                   3 * leastOfMemory(0.5 * (1e9 + 2e9 + 2 * 4e9 + 24e9), topology));
}

// Products take the best rate of their kind, as training sustains it and the software reaches it.
TEST(Relaxation, TakesProductsAtTheirBestRate) {
  Topology topology = *loadTopology("dgx-h100", 1, 8);
  ModelCells cells;
  CellOp op = productOp(WorkKind::Product);
  op.rateShare = 0.5;
  cells.head.ops = {op};
  double sustained = costOp(op, {}, topology, bf16()).sustained;
  ASSERT_LT(sustained, 1);
  EXPECT_DOUBLE_EQ(relaxedStepSeconds(cells, 8, topology, bf16()),
                   leastOfFlops(WorkKind::Product, op.flops / sustained, topology) / 0.5);
}

// Attention with scores in memory is two products, which may be faster than the blocked kernel.
TEST(Relaxation, KnowsHowAttentionIsComputed) {
  Topology topology = *loadTopology("dgx-h100", 1, 8);
  ModelCells cells;
  CellOp op = productOp(WorkKind::Attention);
  double sustained = costOp(op, {}, topology, bf16()).sustained;
  for (bool isBlocked : {true, false}) {
    op.isBlocked = isBlocked;
    cells.head.ops = {op};
    EXPECT_DOUBLE_EQ(relaxedStepSeconds(cells, 8, topology, bf16()),
                     leastOfFlops(isBlocked ? WorkKind::Attention : WorkKind::Product,
                                  op.flops / sustained, topology));
  }
}

// The one of heterogeneous devices that is best at the op does all of it.
TEST(Relaxation, TakesTheBestOfHeterogeneousDevices) {
  Topology mixed = *loadTopology("mixed-a100-h100"), few = mixed.slice(24, 16);
  ASSERT_EQ(few.parts.size(), 2u);
  ModelCells cells;
  cells.head.ops = {memoryOp(1e9, 0)};
  double least = std::min(leastOfMemory(5e8, few.parts[0]), leastOfMemory(5e8, few.parts[1])),
         most = std::max(leastOfMemory(5e8, few.parts[0]), leastOfMemory(5e8, few.parts[1]));
  ASSERT_LT(least, most);
  EXPECT_DOUBLE_EQ(relaxedStepSeconds(cells, 16, few, bf16()), least);
}

} // namespace
} // namespace dtc
