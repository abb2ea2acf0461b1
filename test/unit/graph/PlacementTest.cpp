// What placements make of types, and which padding rules allow.
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

// x[t,c] + b[c]: padded columns stay zero, padded rows receive the bias.
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

// The product of a dim's loops is the dim, whatever the shapes.
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
