// Tests the local types of placements, and the padding that rules allow.
#include "dialects/graph/Placement.h"

#include "dialects/graph/RuleBuilder.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace dtc::graph;

namespace {

class Placement : public testing::Test {
protected:
  Placement() { context.loadDialect<GraphDialect, shard::ShardDialect>(); }

  std::string local(const char *type, const char *placement, ArrayRef<int64_t> mesh) {
    auto tensor = cast<RankedTensorType>(parseType(type, &context));
    auto attr = cast<PlacementAttr>(parseAttribute(placement, &context));
    std::string text;
    llvm::raw_string_ostream(text) << getLocalType(tensor, attr.getAxes(), mesh);
    return text;
  }

  MLIRContext context;
};

TEST_F(Placement, DividesSplitDimsRoundedUp) {
  EXPECT_EQ(local("tensor<50257x768xf32>", "#graph.placement<[replicate, shard(0)]>", {2, 8}),
            "tensor<6283x768xf32>");
  EXPECT_EQ(local("tensor<12x10xbf16>", "#graph.placement<[shard(1), shard(0)]>", {4, 3}),
            "tensor<4x3xbf16>");
}

// Nested splits round like one split over the product: ceil(ceil(10/2)/4) = ceil(10/8).
TEST_F(Placement, NestsSplitsOfOneDim) {
  EXPECT_EQ(local("tensor<10xf32>", "#graph.placement<[shard(0), shard(0)]>", {2, 4}),
            "tensor<2xf32>");
}

// There are two pieces of ceil(10 / 8) each, whichever axes of 2 and 2 split the dim.
TEST_F(Placement, GivesZigzagRanksTwoPieces) {
  EXPECT_EQ(local("tensor<10xf32>", "#graph.placement<[shard(0, zigzag), shard(0)]>", {2, 2}),
            "tensor<4xf32>");
  EXPECT_EQ(local("tensor<10xf32>", "#graph.placement<[shard(0), shard(0, zigzag)]>", {4, 1}),
            "tensor<3xf32>");
}

TEST(DimSplit, OrdersAxesByLevelThenMesh) {
  AxisPlacement sum = AxisPlacement::partial(ReduceKind::Sum);
  AxisPlacement axes[] = {AxisPlacement::shard(0, 1), AxisPlacement::shard(0), sum,
                          AxisPlacement::shard(0)};
  DimSplit split = getDimSplit(axes, {2, 3, 2, 5}, 0);
  EXPECT_EQ(split.axes, (SmallVector<unsigned, 2>{1, 3, 0}));
  EXPECT_EQ(split.parts, 30);
  EXPECT_EQ(getDimSplit(axes, {2, 3, 2, 5}, 1).parts, 1);
}

TEST(DimSplit, HasOneFormForEachOrder) {
  auto canonical = [](std::initializer_list<int64_t> levels) {
    SmallVector<AxisPlacement> axes;
    for (int64_t level : levels)
      axes.push_back(AxisPlacement::shard(0, level));
    SmallVector<int64_t> result;
    for (const AxisPlacement &axis : canonicalPlacement(axes))
      result.push_back(axis.level);
    return result;
  };
  EXPECT_EQ(canonical({0, 1, 2}), (SmallVector<int64_t>{0, 0, 0}));
  EXPECT_EQ(canonical({5, 3, 3}), (SmallVector<int64_t>{1, 0, 0}));
  EXPECT_EQ(canonical({2, 1, 0}), (SmallVector<int64_t>{2, 1, 0}));
  EXPECT_EQ(canonical({1, 2, 0}), (SmallVector<int64_t>{1, 1, 0}));
}

// 64 positions are split zig-zag over axis 1 of 4 alone, then with axis 0 of 2 outside and axis 2
// of 2 inside.
TEST(DimSplit, SaysWherePiecesStart) {
  auto text = [](ArrayRef<AxisPlacement> axes, ArrayRef<int64_t> mesh) {
    std::string result;
    for (const PieceStart &start : getPieceStarts(getDimSplit(axes, mesh, 0), 64, mesh)) {
      result += (result.empty() ? "" : ", ") + std::to_string(start.base);
      for (const PieceStart::Term &term : start.terms)
        result += " + " + std::to_string(term.stride) + "*" + std::to_string(term.axis);
    }
    return result;
  };
  AxisPlacement whole = AxisPlacement::replicate(), shard = AxisPlacement::shard(0),
                zigzag = AxisPlacement::shard(0, 0, true);
  EXPECT_EQ(text({whole, shard}, {2, 4}), "0 + 16*1");
  EXPECT_EQ(text({whole, zigzag}, {2, 4}), "0 + 8*1, 56 + -8*1");
  EXPECT_EQ(text({shard, zigzag, shard}, {2, 4, 2}),
            "0 + 32*0 + 4*1 + 2*2, 28 + 32*0 + -4*1 + 2*2");
}

TEST_F(Placement, LeavesReplicatedPartialAndDynamicDims) {
  EXPECT_EQ(local("tensor<?x8xf32>", "#graph.placement<[shard(0), partial(sum)]>", {2, 4}),
            "tensor<?x8xf32>");
}

TEST_F(Placement, FindsTheMeshOfTheModule) {
  auto with = parseSourceString<ModuleOp>("shard.grid @mesh(shape = 2x4)", &context);
  EXPECT_EQ(getMeshSizes(*with), (SmallVector<int64_t>{2, 4}));
  auto without = parseSourceString<ModuleOp>("shard.grid @other(shape = 2x4)", &context);
  EXPECT_EQ(getMeshSizes(*without), std::nullopt);
}

// x[t,c] + b[c]: padded columns stay zero, and padded rows get the bias.
TEST(Rule, KnowsWherePaddingStaysZero) {
  OpRule rule;
  rule.loops = {{8, LoopKind::Parallel}, {16, LoopKind::Parallel}, {4, LoopKind::Sum}};
  EXPECT_FALSE(rule.allowsPadding(0));
  rule.indexedLoops = {2};
  EXPECT_TRUE(rule.allowsPadding(2));
  rule.zeroPreserving = true;
  rule.fedLoops = {0};
  EXPECT_FALSE(rule.allowsPadding(0));
  EXPECT_TRUE(rule.allowsPadding(1));
}

// The product of a dim's loops is the dim for all shapes.
TEST(Reshape, LoopsMakeUpEveryDim) {
  const SmallVector<int64_t> shapes[] = {{24},      {4, 6},     {6, 4}, {2, 3, 4},
                                         {4, 3, 2}, {1, 24, 1}, {8, 3}, {3, 8}};
  for (ArrayRef<int64_t> from : shapes)
    for (ArrayRef<int64_t> to : shapes) {
      FailureOr<ReshapeLoops> loops = factorReshape(from, to);
      ASSERT_TRUE(succeeded(loops));
      auto check = [&](const TensorLoops &dims, ArrayRef<int64_t> shape) {
        for (auto [dim, size] : llvm::zip_equal(dims, shape)) {
          int64_t product = 1;
          for (unsigned loop : dim)
            product *= loops->loops[loop].size;
          EXPECT_EQ(product, size);
        }
      };
      check(loops->from, from);
      check(loops->to, to);
      if (from == to)
        EXPECT_TRUE(
            llvm::all_of(loops->loops, [](Loop loop) { return loop.kind == LoopKind::Parallel; }));
    }
}

TEST(Reshape, HandlesShapesWithoutElements) {
  EXPECT_TRUE(succeeded(factorReshape({0, 3}, {3, 0, 2})));
  EXPECT_TRUE(failed(factorReshape({0, 3}, {3})));
}

} // namespace
