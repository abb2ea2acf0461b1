// Checks that the ops that reshard emits are its steps.
#include "passes/shard/Reshard.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/IR/Verifier.h"
#include "test/unit/shard/Ranks.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace dtc::test {
namespace {

class ReshardTest : public testing::Test {
protected:
  ReshardTest() { context.loadDialect<graph::GraphDialect, shard::ShardDialect>(); }

  // Reshards on all ranks of `mesh` and compares. Returns the names of the emitted ops.
  std::string check(ArrayRef<int64_t> shape, const Placement &from, const Placement &to,
                    const Mesh &mesh) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    writeMesh(*module, mesh);
    OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
    auto global = RankedTensorType::get(shape, builder.getF32Type());
    RankedTensorType before = localType(global, from, mesh), after = localType(global, to, mesh);
    auto function = graph::FuncOp::create(builder, module->getLoc(), "f",
                                          builder.getFunctionType({before}, {after}));
    Region &body = function.getBody();
    Block &block = body.empty() ? body.emplaceBlock() : body.front();
    if (block.getNumArguments() == 0)
      block.addArgument(before, module->getLoc());
    builder.setInsertionPointToEnd(&block);
    Value result =
        reshard(builder, module->getLoc(), block.getArgument(0), global, from, to, mesh,
                graph::CommunicationAttr::get(&context, graph::CollectiveRole::Activation,
                                              /*async=*/false, /*use=*/0));
    graph::ReturnOp::create(builder, module->getLoc(), result);
    EXPECT_TRUE(succeeded(verify(*module)));
    std::string what = describe(shape, from, to, mesh);
    if (result.getType() != after) {
      ADD_FAILURE() << what << ": the result has another type";
      return "";
    }
    Elements whole = counted(shape);
    std::vector<Elements> parts;
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
      parts.push_back(partOf(whole, from, mesh, rank));
    expectPlaced(whole, runOnRanks(block, result, std::move(parts), mesh), to, mesh, what);
    std::string names;
    for (Operation &op : block.without_terminator())
      names += (names.empty() ? "" : " ") + op.getName().stripDialect().str();
    return names;
  }

private:
  MLIRContext context;
};

TEST_F(ReshardTest, EmitsOneOpAStep) {
  Mesh mesh{{"dp", "tp"}, {2, 4}, {}};
  AxisPlacement whole = AxisPlacement::replicate(), rows = AxisPlacement::shard(0),
                columns = AxisPlacement::shard(1),
                sum = AxisPlacement::partial(graph::ReduceKind::Sum);
  EXPECT_EQ(check({8, 16}, {rows, sum}, {whole, columns}, mesh), "reduce_scatter all_gather");
  EXPECT_EQ(check({8, 16}, {sum, sum}, {whole, whole}, mesh), "all_reduce");
  EXPECT_EQ(check({8, 15}, {whole, rows}, {whole, columns}, mesh), "pad all_to_all");
  EXPECT_EQ(check({8, 15}, {whole, columns}, {whole, sum}, mesh), "all_gather slice scale");
  EXPECT_EQ(check({8, 16}, {whole, whole}, {rows, rows}, mesh), "all_slice");
  EXPECT_EQ(check({8, 16}, {rows, rows}, {rows, rows}, mesh), "");
}

// Each rank has two chunks: the first half in order, then the second backwards.
TEST_F(ReshardTest, EmitsReorderedBlocksAsSlicesAndAConcat) {
  Mesh mesh{{"cp"}, {2}, {}};
  EXPECT_EQ(check({8}, {AxisPlacement::shard(0, 0, true)}, {AxisPlacement::replicate()}, mesh),
            "all_gather slice slice slice concat");
}

TEST_F(ReshardTest, AnyToAny) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Move move = drawMove(seed);
    check(move.shape, move.from, move.to, move.mesh);
    if (HasFailure())
      return;
  }
}

} // namespace
} // namespace dtc::test
