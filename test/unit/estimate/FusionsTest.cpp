// The effect of fused kernels of a stack on a layer, computed by hand.
#include "compiler/price/workload/Fusions.h"
#include "compiler/price/workload/ApplyStack.h"
#include "test/unit/estimate/OwnStack.h"
#include "test/unit/estimate/SmallLayers.h"

#include <map>

namespace dtc {
namespace {

constexpr int64_t kTokens = 128, kWidth = 64, kInner = 256; // the sizes of SmallLayers

class FusionsTest : public SmallLayers {
protected:
  static BlockCell apply(const BlockCell &layer, bool SoftwareStack::*flag) {
    SoftwareStack stack = ownStack();
    if (flag)
      stack.*flag = true;
    ModelCells cells;
    cells.blocks = {layer};
    return applyStack(cells, stack, ComputeType::F32).blocks.front();
  }

  // Returns m, n and k of the products of a pass, sorted.
  static std::vector<std::array<int64_t, 3>> productsOf(const BlockCell &cell, CellPhase phase) {
    std::vector<std::array<int64_t, 3>> shapes;
    for (const CellOp &op : cell.ops)
      if (op.kind == WorkKind::Product && op.phase == phase)
        shapes.push_back({op.m, op.n, op.k});
    llvm::sort(shapes);
    return shapes;
  }

  static double flopsOf(const BlockCell &cell) {
    double flops = 0;
    for (const CellOp &op : cell.ops)
      flops += op.flops;
    return flops;
  }

  static double bytesOf(const BlockCell &cell) {
    double bytes = 0;
    for (const CellOp &op : cell.ops)
      bytes += op.bytes.at({});
    return bytes;
  }
};

using Shapes = std::vector<std::array<int64_t, 3>>;

TEST_F(FusionsTest, JoinsProductsOfOneInput) {
  BlockCell layer = llamaLayer(), joined = apply(layer, &SoftwareStack::joinsProducts);
  EXPECT_EQ(productsOf(apply(layer, nullptr), CellPhase::Forward).size(), 7u);
  EXPECT_EQ(productsOf(joined, CellPhase::Forward), (Shapes{{kTokens, kWidth, kWidth},
                                                            {kTokens, kWidth, kInner},
                                                            {kTokens, 3 * kWidth, kWidth},
                                                            {kTokens, 2 * kInner, kWidth}}));
  EXPECT_EQ(productsOf(joined, CellPhase::BackwardInput), (Shapes{{kTokens, kWidth, kWidth},
                                                                  {kTokens, kWidth, 3 * kWidth},
                                                                  {kTokens, kWidth, 2 * kInner},
                                                                  {kTokens, kInner, kWidth}}));
  EXPECT_EQ(productsOf(joined, CellPhase::BackwardWeight), (Shapes{{kWidth, kWidth, kTokens},
                                                                   {kWidth, 3 * kWidth, kTokens},
                                                                   {kWidth, 2 * kInner, kTokens},
                                                                   {kInner, kWidth, kTokens}}));
  EXPECT_EQ(flopsOf(joined), flopsOf(layer));
  // The inputs of two and of one product are read less, forward and for gradients of weights. As
  // many sums are not written and read: an addition reads two tensors and writes one, and each
  // product but one writes its own.
  constexpr double ofInput = 4 * kTokens * kWidth;
  EXPECT_EQ(
      bytesOf(apply(layer, nullptr)) - bytesOf(joined), 2 * 3 * ofInput + 3 * ofInput + [&] {
        double additions = 0;
        for (const CellOp &op : layer.ops)
          additions += op.addsJoined ? op.bytes.at({}) : 0;
        return additions;
      }());
  int additions = 0;
  for (const CellOp &op : joined.ops)
    if (op.addsJoined) {
      ++additions;
      EXPECT_EQ(op.bytes.at({}) + op.looseBytes.at({}), 0);
      EXPECT_TRUE(op.joined);
    }
  EXPECT_EQ(additions, 3);
}

// Indices of ops stay valid, as other ops refer to them; the members of a joined product refer to
// the first.
TEST_F(FusionsTest, KeepsPositionsOfOps) {
  BlockCell layer = llamaLayer(), joined = apply(layer, &SoftwareStack::joinsProducts);
  ASSERT_EQ(layer.ops.size(), joined.ops.size());
  std::map<int, int> groups;
  for (auto [index, op] : llvm::enumerate(layer.ops)) {
    EXPECT_EQ(op.name, joined.ops[index].name);
    if (op.joinsAt < 0)
      continue;
    ++groups[op.joinsAt];
    EXPECT_EQ(layer.ops[static_cast<size_t>(op.joinsAt)].phase, op.phase);
    EXPECT_EQ(joined.ops[index].flops > 0, op.joinsAt == static_cast<int>(index));
  }
  std::multiset<int> sizes;
  for (auto [first, count] : groups)
    sizes.insert(count);
  EXPECT_EQ(sizes, (std::multiset<int>{2, 2, 2, 3, 3, 3}));
}

TEST_F(FusionsTest, JoinsPartsOfProducts) {
  for (bool sequenceParallel : {false, true}) {
    BlockCell layer = llamaLayer(/*experts=*/0, /*tp=*/2, sequenceParallel),
              joined = apply(layer, &SoftwareStack::joinsProducts);
    EXPECT_EQ(flopsOf(joined), flopsOf(layer));
    Shapes forward = productsOf(joined, CellPhase::Forward);
    EXPECT_EQ(forward.size(), 4u);
    EXPECT_TRUE(llvm::is_contained(forward, Shapes::value_type{kTokens, 3 * kWidth / 2, kWidth}));
    EXPECT_TRUE(llvm::is_contained(forward, Shapes::value_type{kTokens, kInner, kWidth}));
    for (CellPhase phase : {CellPhase::BackwardInput, CellPhase::BackwardWeight})
      EXPECT_EQ(productsOf(joined, phase).size(), 4u);
  }
}

TEST_F(FusionsTest, JoinsGatesOfExperts) {
  BlockCell layer = llamaLayer(/*experts=*/4), joined = apply(layer, &SoftwareStack::joinsProducts);
  EXPECT_EQ(flopsOf(joined), flopsOf(layer));
  auto ofExperts = [](const BlockCell &cell) {
    return llvm::count_if(cell.ops, [](const CellOp &op) { return isOfExperts(op); });
  };
  EXPECT_EQ(ofExperts(layer), 9);
  EXPECT_EQ(ofExperts(joined), 6);
}

// GPT-2's weights of queries, keys and values are one tensor in the graph already.
TEST_F(FusionsTest, LeavesProductsOfTheirOwn) {
  BlockCell layer = gpt2Layer();
  for (const CellOp &op : layer.ops) {
    EXPECT_EQ(op.joinsAt, -1);
    EXPECT_FALSE(op.addsJoined);
    EXPECT_NE(op.fusion, Fusion::Gate);
  }
  EXPECT_EQ(bytesOf(apply(layer, &SoftwareStack::joinsProducts)), bytesOf(apply(layer, nullptr)));
}

// Forward moves 3 tensors in place of 4: gate and gated tensor are read, the product is written.
// Backward moves 5 in place of 7: both and the gradient are read, two gradients are written.
TEST_F(FusionsTest, FusesGates) {
  BlockCell layer = llamaLayer();
  constexpr double tensor = 4 * kTokens * kInner;
  EXPECT_EQ(bytesOf(apply(layer, nullptr)) - bytesOf(apply(layer, &SoftwareStack::fusesGates)),
            (1 + 2) * tensor);
}

// An op that multiplies the gate is in one kernel with it, so that one launch is left; so are the
// two gradients.
TEST_F(FusionsTest, LaunchesEachKernelOnce) {
  BlockCell layer = llamaLayer(), fused = apply(layer, &SoftwareStack::fusesGates),
            apart = apply(layer, nullptr);
  auto launches = [](const BlockCell &cell, bool isForward) {
    return llvm::count_if(cell.ops, [&](const CellOp &op) {
      return (op.phase == CellPhase::Forward) == isForward && !op.joined;
    });
  };
  EXPECT_EQ(launches(fused, true), launches(apart, true));
  EXPECT_EQ(launches(fused, false), launches(apart, false) - 1);
}

TEST_F(FusionsTest, FusesGatesWhereElementwiseOpsAreJoined) {
  BlockCell layer = llamaLayer();
  SoftwareStack stack = ownStack();
  stack.joinsPointwise = false;
  ModelCells cells;
  cells.blocks = {layer};
  double apart = bytesOf(applyStack(cells, stack, ComputeType::F32).blocks.front());
  stack.fusesGates = true;
  EXPECT_EQ(bytesOf(applyStack(cells, stack, ComputeType::F32).blocks.front()), apart);
}

// A product that is recomputed alone is not joined with one that is not recomputed.
TEST_F(FusionsTest, JoinsWhatIsRecomputedAlike) {
  BlockCell layer = llamaLayer();
  int joined = 0;
  for (auto [index, op] : llvm::enumerate(layer.ops))
    if (op.joinsAt >= 0 && op.joinsAt != static_cast<int>(index) &&
        op.phase == CellPhase::Forward) {
      BlockCell other = layer;
      if (joined++ % 2 == 0)
        other.ops[index].runsAgain.flip(0);
      else
        other.unreadOps.push_back(static_cast<int>(index));
      joinProducts(other);
      EXPECT_EQ(other.ops[index].flops, op.flops);
    }
  EXPECT_EQ(joined, 3);
}

// All tensors that the backward pass of a norm reads are at hand for the gradient of x.
TEST_F(FusionsTest, FusesGradientsOfNorms) {
  for (const BlockCell &layer : {llamaLayer(), gpt2Layer()}) {
    BlockCell fused = apply(layer, &SoftwareStack::fusesNormGradients),
              apart = apply(layer, nullptr);
    int norms = 0;
    for (auto [index, op] : llvm::enumerate(fused.ops))
      if (op.fusion == Fusion::NormGradients) {
        ++norms;
        int64_t parameters = op.name == "layer_norm_param_grad" ? 2 : 1;
        EXPECT_EQ(op.bytes.at({}), 4.0 * parameters * kWidth);
        EXPECT_GT(apart.ops[index].bytes.at({}), 2 * 4.0 * kTokens * kWidth);
        EXPECT_TRUE(op.joined);
      } else {
        EXPECT_EQ(op.bytes.at({}), apart.ops[index].bytes.at({}));
      }
    EXPECT_EQ(norms, 2);
  }
}

} // namespace
} // namespace dtc
