#include "compiler/price/workload/FoldLayers.h"

#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/text/ParseModel.h"
#include "dialects/graph/Graph.h"

#include <gtest/gtest.h>

namespace dtc {
namespace {

// Three calls of a block of two operands, each behind `between`.
std::string modelOf(const std::string &between, const std::string &first, const std::string &second,
                    const std::string &third) {
  return R"(
module {
  graph.func private @block(%x: tensor<?x8xf32>, %more: tensor<8xf32>) -> tensor<?x8xf32> {
    %w = graph.param "w" normal(0.0, 0.1) : tensor<8x8xf32>
    %y = graph.linear %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    %z = graph.multiply %y, %more : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    graph.return %z : tensor<?x8xf32>
  }
  graph.func @loss(%x: tensor<?x8xf32>, %targets: tensor<?xi32>) -> tensor<f32> {
    %s = graph.param "s" normal(0.0, 0.1) : tensor<8xf32>
)" + between +
         R"(
    %a = graph.call @block(%x, %)" +
         first + R"() under "layers.0" : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    %b = graph.call @block(%)" +
         second + R"() under "layers.1" : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    %c = graph.call @block(%)" +
         third + R"() under "layers.2" : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    %ab = graph.add %a, %b : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    %abc = graph.add %ab, %c : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    %loss = graph.cross_entropy %LAST, %targets mean : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
})";
}

// Returns the number of layers that are left of the three, whose loss reads %`last`.
int64_t layersLeft(std::string text, const std::string &last) {
  text.replace(text.find("LAST"), 4, last);
  if (last == "c") // the sums are not there
    text.erase(text.find("    %ab ="), text.find("    %loss =") - text.find("    %ab ="));
  mlir::MLIRContext context;
  context.loadDialect<graph::GraphDialect>();
  auto module = parseModel(&context, "model.mlir", text);
  if (!module) {
    ADD_FAILURE() << module.error().text();
    return 0;
  }
  EXPECT_TRUE(succeeded(completeModel(**module)));
  FoldedModel folded = foldLayers(**module);
  int64_t left = 0;
  folded.module->walk([&](graph::CallOp) { ++left; });
  return left;
}

TEST(FoldLayers, KeepOneOfEqualOnes) {
  EXPECT_EQ(layersLeft(modelOf("", "s", "a, %s", "b, %s"), "c"), 1);
  EXPECT_EQ(
      layersLeft(modelOf("    %t = graph.exp %s : tensor<8xf32>", "t", "a, %t", "b, %t"), "c"), 1);
}

// Ops that are made for a layer alone would go with it, and those behind layers beside each other
// would become equal: the placements of ops, which are counted by name, would be others.
TEST(FoldLayers, KeepAllThatHaveOpsOfTheirOwn) {
  EXPECT_EQ(layersLeft(modelOf("    %t = graph.exp %s : tensor<8xf32>\n"
                               "    %u = graph.exp %t : tensor<8xf32>",
                               "s", "a, %t", "b, %u"),
                       "c"),
            3);
  EXPECT_EQ(layersLeft(modelOf("", "s", "x, %s", "x, %s"), "abc"), 3);
}

} // namespace
} // namespace dtc
