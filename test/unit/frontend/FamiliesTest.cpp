// Checks the models that families of transformers become: their parameters, and the ops in which
// they are unlike Llama.
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/frontend/ImportHf.h"

#include "compiler/describe/frontend/HfConfig.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/ShapeOps.h"
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

  // Returns the window of each attention, 0 if it has none.
  std::vector<int64_t> windows() {
    std::vector<int64_t> found;
    module->walk([&](graph::AttentionOp op) {
      found.push_back(static_cast<int64_t>(op.getSliding().value_or(0)));
    });
    return found;
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
  // Each head has a weight of its own: one tensor, or one of each head in files.
  Imported cohere(R"("model_type": "cohere", "num_key_value_heads": 2, "use_qk_norm": true)");
  ASSERT_TRUE(cohere.module) << cohere.error;
  EXPECT_EQ(cohere.shapeOf("self_attn.q_norm.weight"), (Shape{4, 8}));
  EXPECT_EQ(cohere.shapeOf("self_attn.k_norm.weight"), (Shape{2, 8}));
  Imported stablelm(R"("model_type": "stablelm", "num_key_value_heads": 2, "qk_layernorm": true,
                       "partial_rotary_factor": 0.5)");
  ASSERT_TRUE(stablelm.module) << stablelm.error;
  EXPECT_EQ(stablelm.shapeOf("self_attn.q_layernorm.norms.*.weight"), (Shape{4, 8}));
  Imported without(R"("model_type": "cohere", "num_key_value_heads": 2)");
  ASSERT_TRUE(without.module) << without.error;
  EXPECT_EQ(without.shapeOf("self_attn.q_norm.weight"), Shape{});
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
  Imported similar(R"("model_type": "phi3")");
  ASSERT_TRUE(similar.module) << similar.error;
  EXPECT_EQ(similar.shapeOf("self_attn.qkv_proj.weight"), (Shape{3, 4, 8, 32}));
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

// Windows in the order of the blocks: layers without one first. The window of 16 of cohere2 is that
// of layers 0 to 2, which have rotary embedding; it counts from 17 tokens.
TEST(Families, HaveWindowsInSomeLayers) {
  std::string keys = R"("model_type": "cohere2", "sliding_window": 16)";
  Imported within(keys, 16);
  ASSERT_TRUE(within.module) << within.error;
  EXPECT_EQ(within.count<graph::RepeatOp>(), 2);
  EXPECT_EQ(within.windows(), (Shape{0, 0}));
  Imported beyond(keys, 17);
  ASSERT_TRUE(beyond.module) << beyond.error;
  EXPECT_EQ(beyond.count<graph::RepeatOp>(), 2);
  EXPECT_EQ(beyond.windows(), (Shape{16, 0}));
  Imported qwen2(R"("model_type": "qwen2", "num_key_value_heads": 2, "use_sliding_window": true,
                    "sliding_window": 4, "max_window_layers": 3)");
  ASSERT_TRUE(qwen2.module) << qwen2.error;
  EXPECT_EQ(qwen2.windows(), (Shape{0, 4}));
  EXPECT_EQ(qwen2.count<graph::RotaryTableOp>(), 1);
}

// Layers of both kinds take turns, and have blocks of their own.
TEST(Families, CapScoresAndLogits) {
  std::string sizes = R"("head_dim": 8, "num_key_value_heads": 2, "query_pre_attn_scalar": 16, )";
  Imported gemma2("\"model_type\": \"gemma2\", " + sizes + "\"sliding_window\": 4");
  ASSERT_TRUE(gemma2.module) << gemma2.error;
  EXPECT_EQ(gemma2.count<graph::RepeatOp>(), 4);
  EXPECT_EQ(gemma2.windows(), (Shape{0, 4}));
  EXPECT_NE(gemma2.first<graph::AttentionOp>().find("soft_cap 5.000000e+01 scale 2.5"),
            std::string::npos);
  EXPECT_EQ(gemma2.count<graph::TanhOp>(), 1);
  Imported none("\"model_type\": \"gemma2\", " + sizes +
                R"("attn_logit_softcapping": null, "final_logit_softcapping": null)");
  ASSERT_TRUE(none.module) << none.error;
  EXPECT_EQ(none.first<graph::AttentionOp>().find("soft_cap"), std::string::npos);
  EXPECT_EQ(none.count<graph::TanhOp>(), 0);
}

// A window that hides nothing leaves layers with another rotary embedding.
TEST(Families, HaveARotaryEmbeddingForLayersWithAWindow) {
  std::string sizes = R"("head_dim": 8, "num_key_value_heads": 2, "sliding_window_pattern": 4)";
  Imported gemma3("\"model_type\": \"gemma3_text\", " + sizes);
  ASSERT_TRUE(gemma3.module) << gemma3.error;
  EXPECT_EQ(gemma3.count<graph::RotaryTableOp>(), 2);
  EXPECT_EQ(gemma3.count<graph::RepeatOp>(), 2);
  EXPECT_EQ(gemma3.windows(), (Shape{0, 0}));
  EXPECT_EQ(gemma3.shapeOf("self_attn.q_norm.weight"), Shape{8});
  Imported similar("\"model_type\": \"gemma3_text\", \"rope_local_base_freq\": 1e6, " + sizes);
  ASSERT_TRUE(similar.module) << similar.error;
  EXPECT_EQ(similar.count<graph::RotaryTableOp>(), 1);
  EXPECT_EQ(similar.count<graph::RepeatOp>(), 1);
  Imported olmo3(R"("model_type": "olmo3", "sliding_window": 4, "rope_parameters":
                    {"full_attention": {"rope_type": "linear", "factor": 2.0}})");
  ASSERT_TRUE(olmo3.module) << olmo3.error;
  EXPECT_EQ(olmo3.count<graph::RotaryTableOp>(), 2);
  EXPECT_EQ(olmo3.windows(), (Shape{0, 4}));
}

TEST(Families, HaveTheClassesOfTransformers) {
  EXPECT_EQ(architectureOf("gpt2"), "GPT2LMHeadModel");
  EXPECT_EQ(architectureOf("gpt_neox"), "GPTNeoXForCausalLM");
  EXPECT_EQ(architectureOf("gemma3"), "");
  EXPECT_EQ(architectureOfConfig(R"({"model_type": "smollm3"})"), "SmolLM3ForCausalLM");
  EXPECT_EQ(architectureOfConfig("[]"), "");
}

} // namespace
