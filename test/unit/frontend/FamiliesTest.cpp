// Checks the models that families of transformers become: their parameters, and the ops in which
// they are unlike Llama.
#include "compiler/frontend/Frontend.h"

#include "compiler/frontend/HfConfig.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace mlir;
using namespace dtc;

namespace {

// The sizes that all configs here have.
const std::string kSizes =
    R"("vocab_size": 61, "hidden_size": 32, "intermediate_size": 24, "num_hidden_layers": 4,
       "num_attention_heads": 4, "max_position_embeddings": 64, "pad_token_id": null)";

// A model as it is written, or the error of its config.
struct Imported {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string error;

  explicit Imported(const std::string &keys, int64_t sequence = 16) {
    HfConfig config("config.json", "{" + kSizes + ", " + keys + "}");
    module = importHfConfig(&context, config, sequence);
    if (!config.ok()) {
      llvm::raw_string_ostream stream(error);
      config.error().report(stream);
    }
  }

  template <typename Op> int64_t count() {
    int64_t number = 0;
    module->walk([&](Op) { ++number; });
    return number;
  }

  // Returns the text of the first op of a kind.
  template <typename Op> std::string first() {
    std::string text;
    module->walk([&](Op op) {
      if (text.empty()) {
        llvm::raw_string_ostream stream(text);
        op->print(stream);
      }
    });
    return text;
  }

  // Returns the shape of a parameter, empty if there is none of this name.
  std::vector<int64_t> shapeOf(const std::string &name) {
    std::vector<int64_t> shape;
    module->walk([&](graph::ParamOp op) {
      for (auto [declaration, value] : llvm::zip(op.getDeclarations(), op.getResults()))
        if (cast<graph::DeclarationAttr>(declaration).getName().getValue() == name)
          shape = cast<RankedTensorType>(value.getType()).getShape().vec();
    });
    return shape;
  }
};

using Shape = std::vector<int64_t>;

TEST(Families, NormaliseQueriesAndKeysByHeadOrAltogether) {
  Imported qwen3(R"("model_type": "qwen3", "num_key_value_heads": 2, "head_dim": 6)");
  ASSERT_TRUE(qwen3.module) << qwen3.error;
  EXPECT_EQ(qwen3.shapeOf("self_attn.q_norm.weight"), Shape{6});
  EXPECT_EQ(qwen3.count<graph::ReshapeOp>(), 0);
  Imported olmo2(R"("model_type": "olmo2", "num_key_value_heads": 2)");
  ASSERT_TRUE(olmo2.module) << olmo2.error;
  EXPECT_EQ(olmo2.shapeOf("self_attn.q_norm.weight"), Shape{32});
  EXPECT_EQ(olmo2.shapeOf("self_attn.k_norm.weight"), Shape{16});
  EXPECT_EQ(olmo2.shapeOf("input_layernorm.weight"), Shape{});
  EXPECT_EQ(olmo2.shapeOf("post_feedforward_layernorm.weight"), Shape{32});
}

TEST(Families, KeepWeightsThatFilesFuse) {
  Imported neox(R"("model_type": "gpt_neox")");
  ASSERT_TRUE(neox.module) << neox.error;
  EXPECT_EQ(neox.shapeOf("attention.query_key_value.weight"), (Shape{4, 3, 8, 32}));
  EXPECT_EQ(neox.shapeOf("attention.query_key_value.bias"), (Shape{4, 3, 8}));
  EXPECT_EQ(neox.shapeOf("embed_out.weight"), (Shape{61, 32}));
  Imported phi3(R"("model_type": "phi3", "num_key_value_heads": 2)");
  ASSERT_TRUE(phi3.module) << phi3.error;
  EXPECT_EQ(phi3.shapeOf("self_attn.qkv_proj.weight"), (Shape{8, 8, 32}));
  EXPECT_EQ(phi3.shapeOf("mlp.gate_up_proj.weight"), (Shape{2, 24, 32}));
  // As many kv heads as heads: three equal parts, whose heads split.
  Imported alike(R"("model_type": "phi3")");
  ASSERT_TRUE(alike.module) << alike.error;
  EXPECT_EQ(alike.shapeOf("self_attn.qkv_proj.weight"), (Shape{3, 4, 8, 32}));
}

// Queries and keys of the block are rotated, 1/4 of 8 elements by one angle.
TEST(Families, RotateAPartOfAHead) {
  Imported neox(R"("model_type": "gpt_neox")");
  ASSERT_TRUE(neox.module) << neox.error;
  EXPECT_EQ(neox.count<graph::RotaryOp>(), 2);
  EXPECT_EQ(neox.count<graph::ConcatOp>(), 2);
  EXPECT_NE(neox.first<graph::RotaryTableOp>().find("tensor<16x1xf32>"), std::string::npos);
  Imported glm(R"("model_type": "glm", "head_dim": 8)");
  ASSERT_TRUE(glm.module) << glm.error;
  EXPECT_EQ(glm.count<graph::TransposeOp>(), 2);
  EXPECT_NE(glm.first<graph::RotaryTableOp>().find("tensor<16x2xf32>"), std::string::npos);
}

// Layer 3 of 4 has no rotary embedding: a repeat of three layers and one of the other block.
TEST(Families, LeaveRotaryEmbeddingOutOfLayers) {
  Imported smollm3(R"("model_type": "smollm3")");
  ASSERT_TRUE(smollm3.module) << smollm3.error;
  EXPECT_EQ(smollm3.count<graph::RepeatOp>(), 2);
  EXPECT_EQ(smollm3.count<graph::RotaryOp>(), 2);
  std::vector<int64_t> counts, instances;
  smollm3.module->walk([&](graph::RepeatOp op) {
    counts.push_back(static_cast<int64_t>(op.getCount()));
    instances.push_back(static_cast<int64_t>(op.getInstance()));
  });
  EXPECT_EQ(counts, (Shape{3, 1}));
  EXPECT_EQ(instances, (Shape{0, 3}));
  Imported none(R"("model_type": "smollm3", "no_rope_layers": [0, 0, 0, 0])");
  ASSERT_TRUE(none.module) << none.error;
  EXPECT_EQ(none.count<graph::RotaryTableOp>(), 0);
  EXPECT_EQ(none.count<graph::RepeatOp>(), 1);
}

TEST(Families, MultiplyWhereTheConfigSays) {
  Imported granite(R"("model_type": "granite", "embedding_multiplier": 12.0,
                      "residual_multiplier": 0.5, "attention_multiplier": 0.25,
                      "logits_scaling": 8.0)");
  ASSERT_TRUE(granite.module) << granite.error;
  EXPECT_EQ(granite.count<graph::ScaleOp>(), 4); // embeddings, two residuals, logits
  EXPECT_NE(granite.first<graph::AttentionOp>().find("scale 2.5"), std::string::npos);
  Imported gemma(R"("model_type": "gemma", "head_dim": 8, "num_key_value_heads": 4)");
  ASSERT_TRUE(gemma.module) << gemma.error;
  EXPECT_EQ(gemma.count<graph::ScaleOp>(), 1);
  EXPECT_NE(gemma.first<graph::GeluOp>().find("tanh"), std::string::npos);
}

// The window of 16 is that of layers 0 to 2, which have rotary embedding; it counts from 17 tokens.
TEST(Families, TakeWindowsAsLongAsTheSequence) {
  std::string keys = R"("model_type": "cohere2", "sliding_window": 16)";
  Imported within(keys, 16);
  ASSERT_TRUE(within.module) << within.error;
  EXPECT_EQ(within.count<graph::RepeatOp>(), 2);
  Imported beyond(keys, 17);
  EXPECT_FALSE(beyond.module);
  EXPECT_NE(beyond.error.find("'sliding_window' is 16, so that only some of the 4 layers"),
            std::string::npos)
      << beyond.error;
}

TEST(Families, HaveTheClassesOfTransformers) {
  EXPECT_EQ(architectureOf("gpt2"), "GPT2LMHeadModel");
  EXPECT_EQ(architectureOf("gpt_neox"), "GPTNeoXForCausalLM");
  EXPECT_EQ(architectureOf("gemma2"), "");
  EXPECT_EQ(architectureOfConfig(R"({"model_type": "smollm3"})"), "SmolLM3ForCausalLM");
  EXPECT_EQ(architectureOfConfig("[]"), "");
}

} // namespace
