// Checks that the models in models/configs have the published numbers of parameters, and model
// flops as Megatron-LM counts them.
#include "compiler/decide/decisions/Decisions.h"
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/text/ParseModel.h"
#include "compiler/price/workload/ModelFacts.h"
#include "dialects/graph/Graph.h"

#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

#include <cstdio>
#include <unistd.h>

using namespace mlir;
using namespace dtc;

namespace {

ModelFacts factsOf(const std::string &name, int64_t sequence) {
  MLIRContext context;
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  OwningOpRef<ModuleOp> module =
      loadModel(&context, DTC_CONFIGS "/" + name + ".json", sequence, stream);
  EXPECT_TRUE(module) << name << ": " << errors;
  return module ? readModelFacts(*module) : ModelFacts();
}

struct Published {
  const char *name;
  double billions;  // number of parameters
  double precision; // half of the last published digit
};

// Sources: GPT-3 from arXiv:2005.14165, table 2.1; the others from their model cards at Hugging
// Face. 1T is our own. DeepSeek-V3 has 671 without its module that predicts later tokens, and that
// 11.5 of its own (README_WEIGHTS.md of its repository).
constexpr Published kPublished[] = {
    {"gpt2", 0.124, 0.0005},      {"gpt3-175b", 175, 0.5},      {"llama-3-8b", 8.03, 0.005},
    {"llama-3-70b", 70.6, 0.05},  {"llama-3-405b", 406, 0.5},   {"mistral-7b", 7.24, 0.005},
    {"mixtral-8x7b", 46.7, 0.05}, {"mixtral-8x22b", 141, 0.5},  {"qwen2-7b", 7.62, 0.005},
    {"moe-1t", 1010, 0.5},        {"deepseek-v3", 682.5, 0.55}, {"qwen3-235b-a22b", 235, 0.5},
    {"gpt-oss-120b", 117, 0.5},
};

TEST(PublishedModels, HaveTheirParameters) {
  for (const Published &model : kPublished)
    EXPECT_NEAR(static_cast<double>(factsOf(model.name, 512).parameters) / 1e9, model.billions,
                model.precision)
        << model.name;
}

// Exact counts of the checkpoints' tensors.
TEST(PublishedModels, HaveEveryParameterOfTheirCheckpoints) {
  EXPECT_EQ(factsOf("gpt2", 512).parameters, 124439808);
  EXPECT_EQ(factsOf("llama-3-8b", 512).parameters, 8030261248);
  EXPECT_EQ(factsOf("llama-3-70b", 512).parameters, 70553706496);
  EXPECT_EQ(factsOf("llama-3-405b", 512).parameters, 405853388800);
  EXPECT_EQ(factsOf("mistral-7b", 512).parameters, 7241732096);
  EXPECT_EQ(factsOf("mixtral-8x7b", 512).parameters, 46702792704);
  EXPECT_EQ(factsOf("mixtral-8x22b", 512).parameters, 140620634112);
  EXPECT_EQ(factsOf("qwen2-7b", 512).parameters, 7615616512);
}

// The value is num_key_value_heads, or num_attention_heads.
TEST(PublishedModels, HaveTheirKvHeads) {
  EXPECT_EQ(factsOf("gpt2", 512).kvHeads, 12);
  EXPECT_EQ(factsOf("llama-3-405b", 512).kvHeads, 8);
  EXPECT_EQ(factsOf("qwen2-7b", 512).kvHeads, 4);
  EXPECT_TRUE(factsOf("mistral-7b", 8192).slides);
  EXPECT_FALSE(factsOf("mistral-7b", 4096).slides); // the window is as long as the sequence
  EXPECT_FALSE(factsOf("qwen2-7b", 8192).slides);
}

// Programs of models with causal attention alone may cut sequences unasked, also with a window.
TEST(PublishedModels, HaveKindsOfContextParallelism) {
  auto bit = [](ContextKind kind) { return 1u << static_cast<unsigned>(kind); };
  uint32_t all = bit(ContextKind::AllToAll) | bit(ContextKind::Ring) | bit(ContextKind::AllGather);
  EXPECT_EQ(factsOf("llama-3-8b", 8192).contextKinds, all);
  EXPECT_EQ(factsOf("mistral-7b", 8192).contextKinds, all);
  EXPECT_EQ(factsOf("mixtral-8x7b", 8192).contextKinds, 0);
  EXPECT_EQ(factsOf("llama-3-8b", 8192).logits, 8192 * 128256);
}

// A model of one attention whose loss reads all tokens, or all but the last.
std::string shiftedModel(int64_t kept) {
  auto size = std::to_string(kept);
  return R"(
module attributes {graph.sequence_length = 4096 : i64} {
  graph.func @loss(%x: tensor<?x4096x2x8xf32>, %targets: tensor<?x4096xi32>) -> tensor<f32> {
    %w = graph.param "w" normal(0.0, 0.1) : tensor<2x8x32xf32>
    %a = graph.attention %x, %x, %x causal : (tensor<?x4096x2x8xf32>, tensor<?x4096x2x8xf32>, tensor<?x4096x2x8xf32>) -> tensor<?x4096x2x8xf32>
    %logits = graph.linear %a, %w contract 2 : (tensor<?x4096x2x8xf32>, tensor<2x8x32xf32>) -> tensor<?x4096x32xf32>
    %part = graph.slice %logits dim 1 start 0 size )" +
         size + R"( : tensor<?x4096x32xf32> -> tensor<?x)" + size + R"(x32xf32>
    %ids = graph.slice %targets dim 1 start 0 size )" +
         size + R"( : tensor<?x4096xi32> -> tensor<?x)" + size + R"(xi32>
    %loss = graph.cross_entropy %part, %ids mean : (tensor<?x)" +
         size + R"(x32xf32>, tensor<?x)" + size + R"(xi32>) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
})";
}

// An op other than attention that needs all tokens would have to gather them, and a loss of other
// tokens than the sequence's is not cut with it.
TEST(PublishedModels, CutNoSequencesWhoseTokensMeetOutsideOfAttention) {
  mlir::MLIRContext context;
  context.loadDialect<graph::GraphDialect>();
  auto read = [&](int64_t kept) {
    auto module = parseModel(&context, "model.mlir", shiftedModel(kept));
    EXPECT_TRUE(module) << module.error().text();
    EXPECT_TRUE(succeeded(completeModel(**module)));
    return readModelFacts(**module);
  };
  EXPECT_EQ(read(4095).contextKinds, 0);
  EXPECT_EQ(read(4095).logits, 0);
  EXPECT_EQ(read(4096).logits, 4096 * 32);
  EXPECT_NE(read(4096).contextKinds, 0u);
}

// A model of one attention, whose result goes through `ops` before it meets the output layer.
std::string modelWith(const std::string &ops) {
  return R"(
module attributes {graph.sequence_length = 4096 : i64} {
  graph.func @loss(%x: tensor<?x4096x2x8xf32>, %targets: tensor<?x4096xi32>) -> tensor<f32> {
    %w = graph.param "w" normal(0.0, 0.1) : tensor<16x32xf32>
    %a = graph.attention %x, %x, %x causal : (tensor<?x4096x2x8xf32>, tensor<?x4096x2x8xf32>, tensor<?x4096x2x8xf32>) -> tensor<?x4096x2x8xf32>
    %h = graph.reshape %a : tensor<?x4096x2x8xf32> -> tensor<?x4096x16xf32>
)" + ops +
         R"(
    %logits = graph.linear %y, %w : (tensor<?x4096x16xf32>, tensor<16x32xf32>) -> tensor<?x4096x32xf32>
    %loss = graph.cross_entropy %logits, %targets mean : (tensor<?x4096x32xf32>, tensor<?x4096xi32>) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
})";
}

// A product with a row for each token sums over tokens of all ranks, and a reshape that cuts the
// dim of tokens has some of each part on a rank.
TEST(PublishedModels, CutNoSequencesWhoseTokensAreContractedOrCut) {
  mlir::MLIRContext context;
  context.loadDialect<graph::GraphDialect>();
  auto kinds = [&](const std::string &ops) {
    auto module = parseModel(&context, "model.mlir", modelWith(ops));
    EXPECT_TRUE(module) << module.error().text();
    EXPECT_TRUE(succeeded(completeModel(**module)));
    return readModelFacts(**module).contextKinds;
  };
  EXPECT_NE(kinds("    %y = graph.gelu erf %h : tensor<?x4096x16xf32>"), 0u);
  EXPECT_NE(kinds(R"(
    %t = graph.transpose %h by [0, 2, 1] : tensor<?x4096x16xf32> -> tensor<?x16x4096xf32>
    %y = graph.transpose %t by [0, 2, 1] : tensor<?x16x4096xf32> -> tensor<?x4096x16xf32>)"),
            0u);
  EXPECT_EQ(kinds(R"(
    %m = graph.param "m" normal(0.0, 0.1) : tensor<4096x4096xf32>
    %t = graph.transpose %h by [0, 2, 1] : tensor<?x4096x16xf32> -> tensor<?x16x4096xf32>
    %mixed = graph.linear %t, %m : (tensor<?x16x4096xf32>, tensor<4096x4096xf32>) -> tensor<?x16x4096xf32>
    %y = graph.transpose %mixed by [0, 2, 1] : tensor<?x16x4096xf32> -> tensor<?x4096x16xf32>)"),
            0u);
  EXPECT_EQ(kinds(R"(
    %cut = graph.reshape %h : tensor<?x4096x16xf32> -> tensor<?x2x2048x16xf32>
    %y = graph.reshape %cut : tensor<?x2x2048x16xf32> -> tensor<?x4096x16xf32>)"),
            0u);
}

// Returns the number of parameters of a layer with Mixtral's shape that a token meets in products.
double activePerLayer(double width, double inner, double heads, double kvHeads, double headDim,
                      double experts, double top) {
  return 2 * width * heads * headDim + 2 * width * kvHeads * headDim + width * experts +
         top * 3 * width * inner;
}

// Each parameter that a token meets in a product costs 6 flops, and attention 12 * layers *
// sequence * width.
TEST(PublishedModels, CountTheWorkOfActiveExpertsOnly) {
  const double sequence = 4096, width = 4096, layers = 32;
  double active = layers * activePerLayer(width, 14336, 32, 8, 128, 8, 2) + 32000 * width;
  // The sum with the table of tokens and norms is the published 12.9 billion.
  EXPECT_NEAR((active + 32000 * width) / 1e9, 12.9, 0.05);
  double perToken = factsOf("mixtral-8x7b", 4096).flopsPerSample / sequence;
  EXPECT_DOUBLE_EQ(perToken, 6 * active + 12 * layers * sequence * width);

  double active22 = 56 * activePerLayer(6144, 16384, 48, 8, 128, 8, 2) + 32000 * 6144.0;
  EXPECT_NEAR((active22 + 32000 * 6144.0) / 1e9, 39.1, 0.06);
  EXPECT_DOUBLE_EQ(factsOf("mixtral-8x22b", 4096).flopsPerSample / 4096,
                   6 * active22 + 12 * 56 * 4096.0 * 6144);
}

TEST(PublishedModels, CountEveryProductOfDenseOnes) {
  double width = 12288, layers = 96;
  double products = layers * 12 * width * width + 50257 * width;
  EXPECT_DOUBLE_EQ(factsOf("gpt3-175b", 2048).flopsPerSample / 2048,
                   6 * products + 12 * layers * 2048 * width);
}

// Flops of a token of GPT-2: 6 for each parameter in a product, which is 12 h^2 per layer and V h
// for the head, and 12 L s h for scores and their use, of which a causal count has half: 6 (12 * 12
// * 768^2 + 50257 * 768) + 6 * 12 * 1024 * 768 = 797,815,296 against 854,438,400.
TEST(ModelFlops, CountHalfOfCausalAttention) {
  ModelFacts gpt2 = factsOf("gpt2", 1024);
  EXPECT_DOUBLE_EQ(gpt2.flopsPerSample / 1024, 854438400);
  EXPECT_DOUBLE_EQ(gpt2.causalFlopsPerSample / 1024, 797815296);
  // A window of 4096 in 8192 leaves 3/4 of the causal pairs, which is 3/8 of all pairs: 12 L h
  // (8192 * 3/8).
  ModelFacts mistral = factsOf("mistral-7b", 8192);
  EXPECT_DOUBLE_EQ((mistral.flopsPerSample - mistral.causalFlopsPerSample) / 8192,
                   12 * 32 * 4096.0 * 8192 * 3 / 8);
}

// Rows without a token are not work of the model, so more capacity does not change the flops.
TEST(ModelFlops, DoNotGrowWithCapacity) {
  auto flopsWith = [](const std::string &capacity) {
    MLIRContext context;
    // The path is unique to this process, because other jobs on this machine may run the same test.
    std::string path =
        testing::TempDir() + "capacity" + capacity + "-" + std::to_string(::getpid()) + ".json";
    FILE *file = std::fopen(path.c_str(), "w");
    if (!file)
      return 0.0;
    std::string text =
        R"({"model_type": "mixtral", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
            "moe_expert_capacity_factor": )" +
        capacity + "}";
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
    std::string errors;
    llvm::raw_string_ostream stream(errors);
    OwningOpRef<ModuleOp> module = loadModel(&context, path, 128, stream);
    std::remove(path.c_str());
    EXPECT_TRUE(module) << errors;
    return module ? readModelFacts(*module).flopsPerSample : 0.0;
  };
  double wanted =
      128 * (6 * (2 * activePerLayer(32, 48, 4, 2, 8, 8, 2) + 64 * 32.0) + 12 * 2 * 128 * 32.0);
  for (const char *capacity : {"1.0", "1.1", "1.25", "2.0", "8.0"})
    EXPECT_NEAR(flopsWith(capacity), wanted, 1e-9 * wanted) << capacity;
}

// Pairs outside of a window are not work: 2 * n * w - w^2 of n^2 pairs, counted twice like causal
// ones.
TEST(ModelFlops, ShrinkWithTheWindow) {
  double full = factsOf("mistral-7b", 4096).flopsPerSample;
  double twice = factsOf("mistral-7b", 8192).flopsPerSample;
  double attention = 12.0 * 32 * 4096 * 4096 * 4096;
  double products = full - attention;
  EXPECT_NEAR(twice, 2 * products + 4 * attention * 0.75, 1e-9 * twice);
}

} // namespace
