// Checks for any two placements that the steps between them, run on all ranks, end at the second
// one.
#include "passes/shard/ReshardSteps.h"

#include "dialects/graph/Placement.h"
#include "test/unit/shard/Ranks.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace dtc::test {
namespace {

AxisPlacement shard(int64_t dim, int64_t level = 0) { return AxisPlacement::shard(dim, level); }
AxisPlacement zigzag(int64_t dim) { return AxisPlacement::shard(dim, 0, true); }
const AxisPlacement whole = AxisPlacement::replicate();
const AxisPlacement sum = AxisPlacement::partial(graph::ReduceKind::Sum);
const AxisPlacement maximum = AxisPlacement::partial(graph::ReduceKind::Max);

// Runs the steps on all ranks, compares, and returns them in words: "all_gather 0,1" is over axes 0
// and 1.
std::string check(ArrayRef<int64_t> shape, const Placement &from, const Placement &to,
                  const Mesh &mesh) {
  Elements tensor = counted(shape);
  std::vector<Elements> parts;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    parts.push_back(partOf(tensor, from, mesh, rank));
  std::string text;
  for (const ReshardStep &step : reshardSteps(shape, from, to, mesh)) {
    parts = runStep(step, parts, mesh);
    text += (text.empty() ? "" : "; ") + toString(step.kind).str();
    for (auto [index, axis] : llvm::enumerate(step.axes))
      text += (index ? "," : " ") + std::to_string(axis);
    if (step.kind != ReshardStep::Kind::Scale)
      EXPECT_TRUE(llvm::is_sorted(step.axes));
  }
  expectPlaced(tensor, parts, to, mesh, describe(shape, from, to, mesh));
  return text;
}

TEST(ReshardSteps, MovesAlongOneAxis) {
  Mesh mesh{{"tp"}, {2}, {}};
  EXPECT_EQ(check({4, 6}, {shard(0)}, {whole}, mesh), "all_gather 0");
  EXPECT_EQ(check({4, 6}, {whole}, {shard(1)}, mesh), "slice 0");
  EXPECT_EQ(check({4, 6}, {sum}, {whole}, mesh), "all_reduce 0");
  EXPECT_EQ(check({4, 6}, {sum}, {shard(1)}, mesh), "reduce_scatter 0");
  EXPECT_EQ(check({4, 6}, {shard(0)}, {shard(1)}, mesh), "all_to_all 0");
  EXPECT_EQ(check({4, 6}, {whole}, {sum}, mesh), "scale 0");
  EXPECT_EQ(check({4, 6}, {whole}, {maximum}, mesh), "");
  EXPECT_EQ(check({4, 6}, {shard(0)}, {sum}, mesh), "all_gather 0; scale 0");
  EXPECT_EQ(check({4, 6}, {shard(1)}, {shard(1)}, mesh), "");
  EXPECT_EQ(check({4, 6}, {maximum}, {sum}, mesh), "all_reduce 0; scale 0");
}

TEST(ReshardSteps, PadsWhatDoesNotDivide) {
  Mesh mesh{{"tp"}, {4}, {}};
  EXPECT_EQ(check({6, 5}, {shard(0)}, {whole}, mesh), "all_gather 0; crop");
  EXPECT_EQ(check({6, 5}, {whole}, {shard(1)}, mesh), "pad; slice 0");
  EXPECT_EQ(check({6, 5}, {sum}, {shard(0)}, mesh), "pad; reduce_scatter 0");
  EXPECT_EQ(check({8, 5}, {shard(0)}, {shard(1)}, mesh), "pad; all_to_all 0");
  EXPECT_EQ(check({6, 8}, {shard(0)}, {shard(1)}, mesh), "all_to_all 0; crop");
  // The last two ranks hold only padding.
  EXPECT_EQ(check({2, 8}, {shard(0)}, {whole}, mesh), "all_gather 0; crop");
}

TEST(ReshardSteps, JoinsAxesInOneCollective) {
  Mesh mesh{{"dp", "cp", "tp"}, {2, 2, 2}, {}};
  EXPECT_EQ(check({8, 6}, {sum, sum, sum}, {whole, whole, whole}, mesh), "all_reduce 0,1,2");
  EXPECT_EQ(check({8, 6}, {shard(0), shard(0), whole}, {whole, whole, whole}, mesh),
            "all_gather 0,1");
  EXPECT_EQ(check({8, 6}, {sum, whole, sum}, {shard(0), whole, shard(0)}, mesh),
            "reduce_scatter 0,2");
  EXPECT_EQ(check({8, 8}, {whole, shard(0), shard(0)}, {whole, shard(1), shard(1)}, mesh),
            "all_to_all 1,2");
  EXPECT_EQ(check({8, 8}, {whole, whole, whole}, {shard(0), shard(0), shard(0)}, mesh),
            "slice 0,1,2");
}

// Steps that make parts smaller come first, and steps that make them larger last.
TEST(ReshardSteps, ReducesBeforeItGathers) {
  Mesh mesh{{"dp", "tp"}, {2, 4}, {}};
  EXPECT_EQ(check({8, 16}, {shard(0), sum}, {whole, shard(1)}, mesh),
            "reduce_scatter 1; all_gather 0");
  EXPECT_EQ(check({8, 16}, {whole, sum}, {shard(0), whole}, mesh), "slice 0; all_reduce 1");
}

// The outer axis stays in place while the inner one is added or removed.
TEST(ReshardSteps, LeavesOuterAxesInPlace) {
  Mesh mesh{{"dp", "tp"}, {2, 4}, {}};
  EXPECT_EQ(check({16, 8}, {shard(0), shard(0)}, {shard(0), whole}, mesh), "all_gather 1");
  EXPECT_EQ(check({16, 8}, {shard(0), shard(0)}, {shard(0), shard(1)}, mesh), "all_to_all 1");
  EXPECT_EQ(check({16, 8}, {shard(0), sum}, {shard(0), shard(0)}, mesh), "reduce_scatter 1");
  // Optimizer state: dp inside of tp.
  EXPECT_EQ(check({16, 8}, {sum, shard(0)}, {shard(0, 1), shard(0)}, mesh), "reduce_scatter 0");
  EXPECT_EQ(check({16, 8}, {shard(0, 1), shard(0)}, {whole, shard(0)}, mesh), "all_gather 0");
  // Removing the outer axis, or changing the order, moves every part.
  EXPECT_EQ(check({16, 8}, {shard(0), shard(0)}, {whole, shard(0)}, mesh),
            "all_gather 0,1; slice 1");
  EXPECT_EQ(check({16, 8}, {shard(0), shard(0)}, {shard(0, 1), shard(0)}, mesh),
            "all_gather 0,1; slice 1; slice 0");
  // dp has 5 and 5 of 10 rows, and both axes together 2 each, which are other rows.
  EXPECT_EQ(check({10, 8}, {shard(0), shard(0)}, {shard(0), whole}, mesh),
            "all_gather 0,1; crop; slice 0");
}

TEST(ReshardSteps, ReordersForZigzag) {
  Mesh one{{"cp"}, {4}, {}};
  EXPECT_EQ(check({16}, {whole}, {zigzag(0)}, one), "reorder; slice 0");
  EXPECT_EQ(check({16}, {zigzag(0)}, {whole}, one), "all_gather 0; reorder");
  EXPECT_EQ(check({16, 8}, {zigzag(0)}, {shard(1)}, one), "all_to_all 0; reorder");
  EXPECT_EQ(check({16, 8}, {shard(1)}, {zigzag(0)}, one), "reorder; all_to_all 0");
  EXPECT_EQ(check({16, 8}, {sum}, {zigzag(0)}, one), "reorder; reduce_scatter 0");
  EXPECT_EQ(check({13}, {zigzag(0)}, {whole}, one), "all_gather 0; reorder; crop");
  Mesh two{{"cp", "tp"}, {2, 2}, {}};
  EXPECT_EQ(check({16}, {zigzag(0), shard(0)}, {zigzag(0), whole}, two), "all_gather 1; reorder");
  EXPECT_EQ(check({16}, {zigzag(0), whole}, {zigzag(0), shard(0)}, two), "reorder; slice 1");
  EXPECT_EQ(check({16}, {zigzag(0), shard(0)}, {whole, whole}, two), "all_gather 0,1; reorder");
}

TEST(ReshardSteps, MakesWayWhereAxesWaitForEachOther) {
  Mesh mesh{{"dp", "tp"}, {2, 4}, {}};
  EXPECT_EQ(check({8, 16}, {shard(0), shard(1)}, {shard(1), whole}, mesh),
            "all_gather 1; all_to_all 0");
  EXPECT_EQ(check({8, 16}, {shard(0), shard(1)}, {shard(1), shard(0)}, mesh),
            "all_gather 0; all_to_all 1; slice 0");
}

TEST(ReshardSteps, AnyToAny) {
  for (unsigned seed = 0; seed < 6000; ++seed) {
    Move move = drawMove(seed);
    check(move.shape, move.from, move.to, move.mesh);
    if (testing::Test::HasFailure())
      return;
  }
}

// A ring sends (n - 1) / n of the tensor twice for a sum, and once to gather, scatter or exchange.
TEST(ReshardSteps, CountsWhatARankSends) {
  Mesh mesh{{"dp", "tp"}, {2, 4}, {}};
  auto sent = [&](const Placement &from, const Placement &to) {
    double total = 0;
    for (const ReshardStep &step : reshardSteps({8, 16}, from, to, mesh))
      total += sentElements(step, mesh);
    return total;
  };
  EXPECT_DOUBLE_EQ(sent({whole, sum}, {whole, whole}), 2 * 128 * 3.0 / 4);
  EXPECT_DOUBLE_EQ(sent({sum, sum}, {whole, whole}), 2 * 128 * 7.0 / 8);
  EXPECT_DOUBLE_EQ(sent({whole, sum}, {whole, shard(0)}), 128 * 3.0 / 4);
  EXPECT_DOUBLE_EQ(sent({whole, shard(0)}, {whole, whole}), 128 * 3.0 / 4);
  EXPECT_DOUBLE_EQ(sent({whole, shard(0)}, {whole, shard(1)}), 32 * 3.0 / 4);
  EXPECT_DOUBLE_EQ(sent({whole, whole}, {shard(0), sum}), 0);
}

} // namespace
} // namespace dtc::test
