// Compares the frequencies of rotary embedding of every kind with those of transformers 5.24.0:
// Inputs/rope-vectors.json has them for heads of 16.
#include "compiler/describe/frontend/HfConfig.h"
#include "compiler/describe/frontend/ImportHf.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/NnOps.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

#include <fstream>

using namespace mlir;
using namespace dtc;

namespace {

// Returns the only op of a kind, or null.
template <typename Op> Op findOp(ModuleOp module) {
  Op found;
  module->walk([&](Op op) { found = op; });
  return found;
}

TEST(RotaryKinds, HaveTheFrequenciesOfTransformers) {
  std::ifstream file(DTC_ROPE_VECTORS);
  nlohmann::json vectors = nlohmann::json::parse(file);
  EXPECT_EQ(vectors.size(), 10u);
  for (const auto &[name, wanted] : vectors.items()) {
    SCOPED_TRACE(name);
    nlohmann::json keys = {{"model_type", "llama"},
                           {"vocab_size", 61},
                           {"hidden_size", 32},
                           {"intermediate_size", 24},
                           {"num_hidden_layers", 1},
                           {"num_attention_heads", 2},
                           {"max_position_embeddings", wanted["max_position_embeddings"]},
                           {"rope_parameters", wanted["rope"]}};
    HfConfig config("config.json", keys.dump());
    MLIRContext context;
    int64_t sequence = wanted["seq_len"].is_null() ? 16 : wanted["seq_len"].get<int64_t>();
    OwningOpRef<ModuleOp> module = importHfConfig(&context, config, sequence);
    ASSERT_TRUE(module);
    auto scale = findOp<graph::ScaleOp>(*module);
    EXPECT_NEAR(scale ? scale.getFactor().convertToDouble() : 1,
                wanted["attention_factor"].get<double>(), 1e-6);
    auto table = findOp<graph::RotaryTableOp>(*module);
    OpBuilder builder(table);
    if (table.isShort())
      table.writeOut(builder, [] { return int64_t(0); });
    table = findOp<graph::RotaryTableOp>(*module);
    ASSERT_EQ(table.getInverseFrequencies()->size(), wanted["inv_freq"].size());
    for (auto [found, frequency] : llvm::zip(*table.getInverseFrequencies(), wanted["inv_freq"]))
      EXPECT_NEAR(found, frequency.template get<double>(), 1e-6 * frequency.template get<double>());
  }
}

} // namespace
