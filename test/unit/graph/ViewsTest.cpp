// Checks that the ops which are named as views are those whose rule says so.
#include "dialects/graph/Views.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace dtc::graph;

TEST(Views, AreTheOpsWhoseRuleSaysSo) {
  MLIRContext context;
  context.loadDialect<GraphDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    graph.func @f(%x: tensor<2x6xf32>) -> tensor<2x1x3xf32> {
      %0 = graph.finish %x : tensor<2x6xf32>
      %1 = graph.slice %0 dim 1 start 1 size 3 : tensor<2x6xf32> -> tensor<2x3xf32>
      %2 = graph.relu %1 : tensor<2x3xf32>
      %3 = graph.reshape %2 : tensor<2x3xf32> -> tensor<2x1x3xf32>
      graph.return %3 : tensor<2x1x3xf32>
    })",
                                            &context);
  ASSERT_TRUE(module);
  int views = 0;
  module->walk([&](RuleOpInterface op) {
    EXPECT_EQ(isView(op), op.getRule().kind == OpKind::View) << op->getName().getStringRef().str();
    views += isView(op);
  });
  EXPECT_EQ(views, 2);
  Value last =
      cast<FuncOp>(module->getBody()->front()).getBody().front().getTerminator()->getOperand(0);
  EXPECT_EQ(rootOf(last).getDefiningOp()->getName().getStringRef(), "graph.relu");
}
