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

// Returns the ops of a kind.
template <typename Op> SmallVector<Op> opsOf(ModuleOp module) {
  SmallVector<Op> found;
  module->walk([&](Op op) { found.push_back(op); });
  return found;
}

// Returns the only op of a kind, or null.
template <typename Op> Op findOp(ModuleOp module) {
  SmallVector<Op> ops = opsOf<Op>(module);
  return ops.empty() ? Op() : ops.back();
}

// Returns the frequencies of all tables, in the order of the module.
std::vector<std::vector<double>> frequenciesOf(ModuleOp module) {
  for (graph::RotaryTableOp table : opsOf<graph::RotaryTableOp>(module)) {
    OpBuilder builder(table);
    if (table.isShort())
      table.writeOut(builder, [] { return int64_t(0); });
  }
  std::vector<std::vector<double>> found;
  for (graph::RotaryTableOp table : opsOf<graph::RotaryTableOp>(module))
    found.emplace_back(table.getInverseFrequencies()->begin(),
                       table.getInverseFrequencies()->end());
  return found;
}

void expectFrequencies(const std::vector<double> &found, const nlohmann::json &wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (auto [each, frequency] : llvm::zip(found, wanted))
    EXPECT_NEAR(each, frequency.get<double>(), 1e-6 * frequency.get<double>());
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
    auto tables = frequenciesOf(*module);
    ASSERT_EQ(tables.size(), 1u);
    expectFrequencies(tables[0], wanted["inv_freq"]);
  }
}

// Layers with a window and those without have each kind of their own.
TEST(RotaryKinds, OfLayerTypesHaveTheFrequenciesOfTransformers) {
  std::ifstream file(DTC_ROPE_VECTORS);
  nlohmann::json vectors = nlohmann::json::parse(file);
  for (auto [full, sliding] : {std::pair("yarn_f4_orig2048", "llama3_f8"),
                               {"llama3_f8", "yarn_f40_mscale1_1"},
                               {"linear_f4", "default"},
                               {"default", "longrope_short"}}) {
    SCOPED_TRACE(std::string(full) + " and " + sliding);
    nlohmann::json keys = {{"model_type", "gemma3_text"},
                           {"vocab_size", 61},
                           {"hidden_size", 32},
                           {"intermediate_size", 24},
                           {"num_hidden_layers", 2},
                           {"num_attention_heads", 2},
                           {"num_key_value_heads", 1},
                           {"head_dim", 16},
                           {"pad_token_id", 0},
                           {"sliding_window", 4},
                           {"layer_types", {"sliding_attention", "full_attention"}},
                           {"max_position_embeddings", vectors[sliding]["max_position_embeddings"]},
                           {"rope_parameters",
                            {{"full_attention", vectors[full]["rope"]},
                             {"sliding_attention", vectors[sliding]["rope"]}}}};
    HfConfig config("config.json", keys.dump());
    MLIRContext context;
    OwningOpRef<ModuleOp> module = importHfConfig(&context, config, 16);
    ASSERT_TRUE(module);
    auto tables = frequenciesOf(*module);
    ASSERT_EQ(tables.size(), 2u);
    expectFrequencies(tables[0], vectors[full]["inv_freq"]);
    expectFrequencies(tables[1], vectors[sliding]["inv_freq"]);
  }
}

} // namespace
