// Tests which dims of a program are sequence and channels, as its ops show.
#include "compiler/price/workload/DimRoles.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/NnOps.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace dtc {
namespace {

constexpr uint8_t kBatch = ScalesWithBatch, kSequence = ScalesWithSequence,
                  kChannels = DimRoles::kChannels;
using Bits = std::vector<uint8_t>;

class DimRolesTest : public testing::Test {
protected:
  DimRolesTest() { context.loadDialect<graph::GraphDialect>(); }

  // Returns the roles of the arguments of '@loss', by number.
  std::vector<Bits> rolesOf(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return {};
    DimRoles roles(*module, graph::kLossFunction);
    std::vector<Bits> bits;
    for (Value argument : loss().getArguments())
      bits.emplace_back(roles.of(argument).begin(), roles.of(argument).end());
    return bits;
  }
  graph::FuncOp loss() { return module->lookupSymbol<graph::FuncOp>(graph::kLossFunction); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

// A sample has as many features as the series has steps, but they are not a sequence.
TEST_F(DimRolesTest, TellsASequenceByTheAttentionThatReadsIt) {
  auto roles = rolesOf(R"mlir(
    module attributes {graph.sequence_length = 8 : i64} {
      graph.func private @block(%x: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
        %heads = graph.reshape %x : tensor<4x8x16xf32> -> tensor<4x8x2x8xf32>
        %a = graph.attention %heads, %heads, %heads causal scale 0.5
            : (tensor<4x8x2x8xf32>, tensor<4x8x2x8xf32>, tensor<4x8x2x8xf32>) -> tensor<4x8x2x8xf32>
        %out = graph.reshape %a : tensor<4x8x2x8xf32> -> tensor<4x8x16xf32>
        graph.return %out : tensor<4x8x16xf32>
      }
      graph.func @loss(%series: tensor<4x8x16xf32>, %features: tensor<4x8xf32>) -> tensor<4x8x16xf32> {
        %positions = graph.constant 1.0 : tensor<8x16xf32>
        %w = graph.constant 1.0 : tensor<8x16xf32>
        %x = graph.add %series, %positions : (tensor<4x8x16xf32>, tensor<8x16xf32>) -> tensor<4x8x16xf32>
        %known = graph.linear %features, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
        %y = graph.repeat 2 @block(%x) : (tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
        graph.return %y : tensor<4x8x16xf32>
      }
    })mlir");
  ASSERT_EQ(roles.size(), 2U);
  EXPECT_EQ(roles[0], (Bits{kBatch, kSequence, kChannels}));
  EXPECT_EQ(roles[1], (Bits{kBatch, kChannels}));
  // An operand that is added for each position is a sequence of channels; weights have only
  // channels.
  DimRoles all(*module, graph::kLossFunction);
  std::vector<Bits> constants;
  for (auto constant : loss().getBody().getOps<graph::ConstantOp>())
    constants.emplace_back(all.of(constant.getResult()).begin(),
                           all.of(constant.getResult()).end());
  EXPECT_EQ(constants, (std::vector<Bits>{{kSequence, kChannels}, {kChannels, kChannels}}));
}

TEST_F(DimRolesTest, TellsNoSequenceFromItsLength) {
  auto roles = rolesOf(R"mlir(
    module attributes {graph.sequence_length = 8 : i64} {
      graph.func @loss(%images: tensor<4x8x8xf32>) -> tensor<4x8x16xf32> {
        %w = graph.constant 1.0 : tensor<8x16xf32>
        %y = graph.linear %images, %w : (tensor<4x8x8xf32>, tensor<8x16xf32>) -> tensor<4x8x16xf32>
        graph.return %y : tensor<4x8x16xf32>
      }
    })mlir");
  ASSERT_EQ(roles.size(), 1U);
  EXPECT_EQ(roles[0], (Bits{kBatch, 0, kChannels}));
}

// The role is found forward from the rows of a table, and backward from the input of the loss
// through the output layer to its weights.
TEST_F(DimRolesTest, TellsWordsFromOtherRows) {
  auto roles = rolesOf(R"mlir(
    module {
      graph.func @loss(%ids: tensor<4x8xi32>, %targets: tensor<4x8xi32>) -> tensor<4x8xf32> {
        %table = graph.constant 1.0 : tensor<32x16xf32>
        %inner = graph.constant 1.0 : tensor<16x16xf32>
        %head = graph.constant 1.0 : tensor<16x32xf32>
        %x = graph.embedding %table, %ids : (tensor<32x16xf32>, tensor<4x8xi32>) -> tensor<4x8x16xf32>
        %y = graph.linear %x, %inner : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
        %logits = graph.linear %y, %head : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
        %rows, %lse = graph.cross_entropy %logits, %targets : (tensor<4x8x32xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
        graph.return %rows : tensor<4x8xf32>
      }
    })mlir");
  ASSERT_EQ(roles.size(), 2U);
  DimRoles all(*module, graph::kLossFunction);
  auto wordsOf = [&](Value value) {
    std::vector<bool> words;
    for (uint8_t dim : all.of(value))
      words.push_back((dim & ScalesWithVocabulary) != 0);
    return words;
  };
  using Words = std::vector<bool>;
  std::vector<Words> weights, results;
  for (auto constant : loss().getBody().getOps<graph::ConstantOp>())
    weights.push_back(wordsOf(constant.getResult()));
  EXPECT_EQ(weights, (std::vector<Words>{{true, false}, {false, false}, {false, true}}));
  for (auto linear : loss().getBody().getOps<graph::LinearOp>())
    results.push_back(wordsOf(linear->getResult(0)));
  EXPECT_EQ(results, (std::vector<Words>{{false, false, false}, {false, false, true}}));
}

// [batch, time, width] is joined to [batch, time * width] and then mapped to other channels.
TEST_F(DimRolesTest, SaysOfAJoinedDimAllThatItIs) {
  auto roles = rolesOf(R"mlir(
    module {
      graph.func @loss(%ids: tensor<4x8xi32>) -> tensor<4x128xf32> {
        %table = graph.constant 1.0 : tensor<32x16xf32>
        %words = graph.embedding %table, %ids : (tensor<32x16xf32>, tensor<4x8xi32>) -> tensor<4x8x16xf32>
        %flat = graph.reshape %words : tensor<4x8x16xf32> -> tensor<4x128xf32>
        graph.return %flat : tensor<4x128xf32>
      }
    })mlir");
  ASSERT_EQ(roles.size(), 1U);
  EXPECT_EQ(roles[0], (Bits{kBatch, kSequence}));
  DimRoles all(*module, graph::kLossFunction);
  Value flat = loss().getBody().front().getTerminator()->getOperand(0);
  EXPECT_EQ(Bits(all.of(flat).begin(), all.of(flat).end()), (Bits{kBatch, kSequence | kChannels}));
  EXPECT_EQ(all.bitsOf(flat), kBatch | kSequence); // nothing scales with channels
}

} // namespace
} // namespace dtc
