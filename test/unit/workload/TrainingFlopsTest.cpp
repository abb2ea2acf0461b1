// Tests the products of a training step in which some parameters are frozen.
#include "compiler/price/workload/TrainingFlops.h"

#include "compiler/describe/frontend/Frontend.h"
#include "models/Gpt2.h"
#include "passes/Pipelines.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

namespace dtc {
namespace {

constexpr int64_t kTokens = 32, kWidth = 64, kLayers = 3, kWords = 256;
// Flops of one sample: a product of all tokens with a matrix of the layer's width, and attention's
// products.
constexpr double kProduct = 2.0 * kTokens * kWidth * kWidth,
                 kAttention = 4.0 * kTokens * kTokens * kWidth,
                 kHead = 2.0 * kTokens * kWidth * kWords;
constexpr double kLayer = 12 * kProduct + kAttention;

class TrainingFlopsTest : public testing::Test {
protected:
  TrainingFlopsTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    loadDialects(context);
    Gpt2Config config;
    config.vocabulary = kWords;
    config.positions = kTokens;
    config.width = kWidth;
    config.layers = kLayers;
    config.heads = 4;
    config.tied = false;
    model = completed(buildGpt2(&context, config, kTokens));
  }

  void freeze(llvm::function_ref<bool(llvm::StringRef)> isFrozen) {
    for (auto parameter : model->getOps<graph::ParameterOp>())
      parameter.setFrozen(isFrozen(parameter.getSymName()));
  }
  double flops() { return trainingFlops(*model, CausalPairs::All); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> model;
};

TEST_F(TrainingFlopsTest, AreThriceThoseOfForward) {
  EXPECT_EQ(flops(), 3 * (kLayers * kLayer + kHead));
  EXPECT_EQ(trainingFlops(*model, CausalPairs::Seen),
            3 * (kLayers * (12 * kProduct + kAttention / 2) + kHead));
}

TEST_F(TrainingFlopsTest, LeaveOutGradientsOfFrozenWeights) {
  freeze([](llvm::StringRef name) { return name.ends_with("mlp.c_fc.weight"); });
  EXPECT_EQ(flops(), 3 * (kLayers * kLayer + kHead) - kLayers * 4 * kProduct);
}

// The first layer's norms and biases are trained, so gradients reach all of it except what comes
// before its norm.
TEST_F(TrainingFlopsTest, StopWhereNothingBeforeIsTrained) {
  freeze([](llvm::StringRef name) { return !name.contains("lm_head"); });
  EXPECT_EQ(flops(), kLayers * kLayer + 2 * kHead);
  freeze([](llvm::StringRef name) { return !name.contains("ln_f"); });
  EXPECT_EQ(flops(), kLayers * kLayer + 2 * kHead);
  freeze([](llvm::StringRef name) { return !name.ends_with("mlp.c_proj.bias"); });
  // The first layer has no products of gradients. The others have those that lead back.
  EXPECT_EQ(flops(),
            kLayers * kLayer + (kLayers - 1) * (12 * kProduct + 2 * kAttention) + 2 * kHead);
}

} // namespace
} // namespace dtc
