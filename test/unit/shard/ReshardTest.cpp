// Whatever two placements: what reshard emits, run on all ranks, is what the second one says.
#include "passes/shard/Reshard.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/Verifier.h"
#include "test/unit/shard/Ranks.h"

#include <gtest/gtest.h>

#include <random>

using namespace mlir;

namespace dtc::test {
namespace {

class ReshardTest : public testing::Test {
protected:
  ReshardTest() { context.loadDialect<graph::GraphDialect, shard::ShardDialect>(); }

  // Reshards on all ranks of `mesh` and compares; returns the names of the emitted ops.
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
    if (result.getType() != after) {
      ADD_FAILURE() << describe(shape, from, to, mesh) << ": the result has another type";
      return "";
    }
    compare(block, result, shape, from, to, mesh);
    std::string names;
    for (Operation &op : block.without_terminator())
      names += (names.empty() ? "" : " ") + op.getName().stripDialect().str();
    return names;
  }

private:
  static std::string describe(ArrayRef<int64_t> shape, const Placement &from, const Placement &to,
                              const Mesh &mesh) {
    std::string text;
    llvm::raw_string_ostream out(text);
    llvm::interleave(shape, out, "x");
    out << " from " << toString(from) << " to " << toString(to) << " on ";
    llvm::interleave(mesh.sizes, out, "x");
    return text;
  }

  static void compare(Block &block, Value result, ArrayRef<int64_t> shape, const Placement &from,
                      const Placement &to, const Mesh &mesh) {
    Elements whole{SmallVector<int64_t>(shape), {}};
    int64_t count = cast<RankedTensorType>(result.getType()).getNumElements() * mesh.numRanks();
    for (int64_t i = 0; i < std::max(count, int64_t(1000)); ++i)
      whole.values.push_back(static_cast<double>(i + 1));
    int64_t elements = 1;
    for (int64_t size : shape)
      elements *= size;
    whole.values.resize(elements);
    std::vector<Elements> parts;
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
      parts.push_back(partOf(whole, from, mesh, rank));
    std::vector<Elements> found = runOnRanks(block, result, std::move(parts), mesh);
    // How a sum is shared out is free: only the sum counts.
    Placement finished = to;
    for (unsigned axis = 0; axis < mesh.numAxes(); ++axis) {
      if (!to[axis].isPartial())
        continue;
      finished[axis] = AxisPlacement::replicate();
      std::vector<Elements> sums = found;
      for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
        for (size_t i = 0; i < sums[rank].values.size(); ++i) {
          sums[rank].values[i] = 0;
          for (int64_t c = 0; c < mesh.sizes[axis]; ++c)
            sums[rank].values[i] += found[neighbour(mesh, rank, axis, c)].values[i];
        }
      found = std::move(sums);
    }
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
      Elements wanted = partOf(whole, finished, mesh, rank);
      ASSERT_EQ(found[rank].values.size(), wanted.values.size());
      for (size_t i = 0; i < wanted.values.size(); ++i)
        ASSERT_NEAR(found[rank].values[i], wanted.values[i], 1e-6)
            << describe(shape, from, to, mesh) << ", rank " << rank << ", element " << i;
    }
  }

  MLIRContext context;
};

AxisPlacement shard(int64_t dim) { return AxisPlacement::shard(dim); }
const AxisPlacement whole = AxisPlacement::replicate();
const AxisPlacement sum = AxisPlacement::partial(graph::ReduceKind::Sum);

TEST_F(ReshardTest, MovesAlongOneAxis) {
  Mesh mesh{{"tp"}, {2}};
  EXPECT_EQ(check({4, 6}, {shard(0)}, {whole}, mesh), "all_gather");
  EXPECT_EQ(check({4, 6}, {whole}, {shard(1)}, mesh), "all_slice");
  EXPECT_EQ(check({4, 6}, {sum}, {whole}, mesh), "all_reduce");
  EXPECT_EQ(check({4, 6}, {sum}, {shard(1)}, mesh), "reduce_scatter");
  EXPECT_EQ(check({4, 6}, {shard(0)}, {shard(1)}, mesh), "all_to_all");
  EXPECT_EQ(check({4, 6}, {whole}, {sum}, mesh), "scale");
  EXPECT_EQ(check({4, 6}, {shard(0)}, {sum}, mesh), "all_gather scale");
  EXPECT_EQ(check({4, 6}, {shard(1)}, {shard(1)}, mesh), "");
}

TEST_F(ReshardTest, PadsWhatDoesNotDivide) {
  Mesh mesh{{"tp"}, {4}};
  EXPECT_EQ(check({6, 5}, {shard(0)}, {whole}, mesh), "all_gather slice");
  EXPECT_EQ(check({6, 5}, {whole}, {shard(1)}, mesh), "pad all_slice");
  EXPECT_EQ(check({6, 5}, {sum}, {shard(0)}, mesh), "pad reduce_scatter");
  EXPECT_EQ(check({8, 5}, {shard(0)}, {shard(1)}, mesh), "all_gather pad all_slice");
  EXPECT_EQ(check({6, 8}, {shard(0)}, {shard(1)}, mesh), "all_gather slice all_slice");
  // The last two ranks hold nothing but padding.
  EXPECT_EQ(check({2, 8}, {shard(0)}, {whole}, mesh), "all_gather slice");
}

// A dim that one axis leaves is free before another comes.
TEST_F(ReshardTest, KeepsAxesApart) {
  Mesh mesh{{"dp", "tp"}, {2, 4}};
  EXPECT_EQ(check({8, 16}, {shard(0), shard(1)}, {shard(1), whole}, mesh), "all_gather all_to_all");
  EXPECT_EQ(check({8, 16}, {shard(0), shard(1)}, {whole, shard(0)}, mesh), "all_gather all_to_all");
  EXPECT_EQ(check({8, 16, 8}, {shard(0), shard(1)}, {shard(1), shard(2)}, mesh),
            "all_to_all all_to_all");
  EXPECT_EQ(check({8, 16}, {shard(0), shard(1)}, {shard(1), shard(0)}, mesh),
            "all_gather all_to_all all_slice");
}

TEST_F(ReshardTest, AnyToAny) {
  std::mt19937 random(1);
  auto below = [&](int64_t count) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
  };
  for (int index = 0; index < 4000; ++index) {
    Mesh mesh;
    for (int64_t axis = 0, count = 1 + below(3); axis < count; ++axis) {
      mesh.names.push_back("a" + std::to_string(axis));
      mesh.sizes.push_back(1 + below(4));
    }
    SmallVector<int64_t> shape;
    for (int64_t dim = 0, count = 1 + below(4); dim < count; ++dim)
      shape.push_back(below(2) ? 12 : 1 + below(9));
    // No dim is split over two axes; a maximum is finished, a sum may be kept or made.
    auto place = [&](const Placement *now) {
      Placement placement = replicated(mesh);
      SmallVector<bool> taken(shape.size(), false);
      for (unsigned axis = 0; axis < mesh.numAxes(); ++axis) {
        int64_t dim = below(static_cast<int64_t>(shape.size()) + 2);
        bool ofMax =
            now && (*now)[axis].isPartial() && (*now)[axis].reduce == graph::ReduceKind::Max;
        if (dim < static_cast<int64_t>(shape.size()) && !taken[dim]) {
          placement[axis] = shard(dim);
          taken[dim] = true;
        } else if (below(2) && !ofMax) {
          placement[axis] = AxisPlacement::partial(now || below(2) ? graph::ReduceKind::Sum
                                                                   : graph::ReduceKind::Max);
        }
      }
      // Sums and maxima don't commute: one kind at a time.
      for (AxisPlacement &axis : placement)
        if (axis.isPartial() && !now)
          axis.reduce = index % 2 ? graph::ReduceKind::Sum : graph::ReduceKind::Max;
      return placement;
    };
    Placement from = place(nullptr), to = place(&from);
    check(shape, from, to, mesh);
    if (HasFailure())
      return;
  }
}

} // namespace
} // namespace dtc::test
