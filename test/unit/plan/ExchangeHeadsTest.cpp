// Attention whose ranks swap parts of the sequence for heads.
#include "passes/graph/ExchangeHeads.h"

#include "dialects/graph/ExchangeOps.h"
#include "dialects/graph/NnOps.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace dtc {
namespace {

constexpr const char *kAttention = R"(
graph.func @loss(%q: tensor<?x8x8x4xf32>, %k: tensor<?x8x2x4xf32>) -> tensor<?x8x8x4xf32> {
  %0 = graph.attention %q, %k, %k causal
    : (tensor<?x8x8x4xf32>, tensor<?x8x2x4xf32>, tensor<?x8x2x4xf32>) -> tensor<?x8x8x4xf32>
  graph.return %0 : tensor<?x8x8x4xf32>
}
)";

class ExchangeHeads : public testing::Test {
protected:
  ExchangeHeads() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<graph::GraphDialect>();
    context.getDiagEngine().registerHandler(
        [this](Diagnostic &diagnostic) { message = diagnostic.str(); });
    module = parseSourceString<ModuleOp>(kAttention, ParserConfig(&context));
  }

  // Returns the kv heads that attention has for so many ranks; 0 after a diagnostic.
  int64_t headsFor(int64_t ranks) {
    if (failed(exchangeHeads(*module, ranks)))
      return 0;
    EXPECT_TRUE(succeeded(verify(*module)));
    int64_t heads = 0, exchanges = 0;
    module->walk([&](graph::AttentionOp attention) {
      heads = attention.getK().getType().getDimSize(2);
      for (Value operand : attention->getOperands())
        EXPECT_TRUE(operand.getDefiningOp<graph::ExchangeOp>());
    });
    module->walk([&](graph::ExchangeOp) { ++exchanges; });
    EXPECT_EQ(exchanges, 4);
    return heads;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string message;
};

TEST_F(ExchangeHeads, LeavesKvHeadsThatRanksDivide) { EXPECT_EQ(headsFor(2), 2); }

TEST_F(ExchangeHeads, RepeatsKvHeadsForMoreRanks) { EXPECT_EQ(headsFor(8), 8); }

TEST_F(ExchangeHeads, RefusesRanksThatHeadsDoNotDivide) {
  EXPECT_EQ(headsFor(3), 0);
  EXPECT_EQ(message, "'graph.attention' op has 8 heads and 2 kv heads, which cp and tp, 3 ranks "
                     "together, do not divide; use another cp");
}

TEST(CopiesOfHeads, AreAsManyAsRanksNeed) {
  EXPECT_EQ(copiesOfHeads(8, 8, 4), 1);
  EXPECT_EQ(copiesOfHeads(8, 2, 4), 2);
  EXPECT_EQ(copiesOfHeads(12, 4, 6), 3);
  EXPECT_EQ(copiesOfHeads(8, 4, 16), 0);
  EXPECT_EQ(copiesOfHeads(6, 2, 4), 0); // a rank would have a part of a copy's query heads
}

} // namespace
} // namespace dtc
