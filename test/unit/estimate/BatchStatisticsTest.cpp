// The all-reduces of batch norm over the ranks that share a batch.
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/estimate/CellCost.h"
#include "compiler/price/estimate/ModelCost.h"
#include "test/unit/estimate/SmallLayers.h"

#include "mlir/Parser/Parser.h"

namespace dtc {
namespace {

class BatchStatistics : public SmallLayers {
protected:
  // Returns a layer of a product and a batch norm of 6 channels with these options.
  BlockCell normalised(const std::string &options) {
    return layerOf(mlir::parseSourceString<mlir::ModuleOp>(R"(
!x = tensor<?x6xf32>
!c = tensor<6xf32>
graph.func private @block(%x: !x) -> !x {
  %k = graph.param "k" ones : tensor<6x6xf32>
  %w, %b = graph.param "w" ones, "b" zeros : !c, !c
  %h = graph.linear %x, %k : (!x, tensor<6x6xf32>) -> !x
  %y = graph.batch_norm %h, %w, %b )" + options + R"( : (!x, !c, !c) -> !x
  graph.return %y : !x
}
graph.func @loss(%x: !x {graph.input = "x"}) -> tensor<f32> {
  %y = graph.repeat 2 @block(%x) under "h.{}" : (!x) -> !x
  %s = graph.multiply %y, %y : (!x, !x) -> !x
  %l = graph.reduce mean %s dims [0, 1] : !x -> tensor<f32>
  graph.return %l : tensor<f32>
})",
                                                           &context));
  }
};

// Mean and variance in forward, the sums of two gradients in backward, of 6 channels in f32.
TEST_F(BatchStatistics, AreReducedUnhidden) {
  BlockCell cell = normalised("");
  Topology topology = *loadTopology("dgx-h100", 1, 8);
  Decisions d;
  d.dp = 8;
  AxisGroups groups = groupsOf(d);
  int forward = 0, backward = 0;
  for (const CellCollective &collective : cell.collectives) {
    ASSERT_EQ(collective.axis, CellAxis::Dp);
    EXPECT_EQ(collective.kind, CollectiveKind::AllReduce);
    EXPECT_EQ(collective.bytes.at({/*samples=*/5, 1, 1}), 6 * 4);
    EXPECT_EQ(hiddenShareOf(collective, {.tp = 1, .cp = 1, .ep = 1}), 0);
    ++(collective.phase == CellPhase::Forward ? forward : backward);
  }
  EXPECT_EQ(forward, 2);
  EXPECT_EQ(backward, 2);
  BlockCost cost = costBlock(cell, {/*samples=*/4, 1, 1}, groups, topology, CellPrecision());
  double each = collectiveSeconds(CollectiveKind::AllReduce, 24, groups.dense, topology);
  EXPECT_DOUBLE_EQ(cost.forwardHeads, 2 * each);
  EXPECT_DOUBLE_EQ(cost.backwardHeads, 2 * each);
  d.dp = 1;
  cost = costBlock(cell, {/*samples=*/4, 1, 1}, groupsOf(d), topology, CellPrecision());
  EXPECT_EQ(cost.forwardHeads, 0);
}

TEST_F(BatchStatistics, OfPartsStayOnTheirRank) {
  EXPECT_TRUE(normalised("parts").collectives.empty());
}

} // namespace
} // namespace dtc
