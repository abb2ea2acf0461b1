// Compares every op that computes sums within itself with the ops into which it can be divided. The
// interpreter runs both.
#include "Interpreter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace dtc::graph;

namespace {

Tensor random(Type type, std::mt19937 &engine) {
  Tensor tensor = Tensor::zeros(type);
  for (double &value : tensor.data)
    value = isa<IntegerType>(getElementTypeOrSelf(type))
                ? static_cast<double>(engine() % 3)
                : std::uniform_real_distribution<double>(0.2, 1.5)(engine);
  return tensor;
}

// Checks the only op of a function with these arguments.
void checkStages(const std::string &arguments, const std::string &text) {
  SCOPED_TRACE(text);
  MLIRContext context;
  context.loadDialect<GraphDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "graph.func @f(" + arguments + ") {\n" + text + "\n graph.return\n}", &context);
  ASSERT_TRUE(module);
  Block &block = cast<FuncOp>(module->getBody()->front()).getBody().front();
  Operation *op = &block.front();
  std::mt19937 engine{7};
  Values values;
  for (Value argument : block.getArguments())
    values[argument] = random(argument.getType(), engine);
  interpret(op, values);

  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  SmallVector<Value> results = cast<DecomposeOpInterface>(op).decompose(builder);
  for (Operation *stage = op->getNextNode(); !isa<ReturnOp>(stage); stage = stage->getNextNode()) {
    ASSERT_TRUE(succeeded(verify(stage))) << stage->getName().getStringRef().str();
    interpret(stage, values);
  }
  ASSERT_EQ(results.size(), op->getNumResults());
  for (auto [index, result] : llvm::enumerate(results)) {
    ASSERT_EQ(result.getType(), op->getResult(index).getType());
    const Tensor &whole = values[op->getResult(index)], &staged = values[result];
    for (size_t e = 0; e < whole.data.size(); ++e) // constants in bodies are f32
      EXPECT_NEAR(staged.data[e], whole.data[e], 1e-6) << "result " << index << " element " << e;
  }
}

TEST(Stages, OfLayerNorm) {
  checkStages("%x: tensor<2x3x5xf32>, %w: tensor<5xf32>, %b: tensor<5xf32>",
              "%0, %m, %r = graph.layer_norm %x, %w, %b : (tensor<2x3x5xf32>, tensor<5xf32>, "
              "tensor<5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3xf32>, tensor<2x3xf32>)");
  checkStages("%x: tensor<5xf32>, %w: tensor<5xf32>, %b: tensor<5xf32>",
              "%0, %m, %r = graph.layer_norm %x, %w, %b : (tensor<5xf32>, tensor<5xf32>, "
              "tensor<5xf32>) -> (tensor<5xf32>, tensor<f32>, tensor<f32>)");
}

TEST(Stages, OfLayerNormGrad) {
  checkStages("%x: tensor<3x5xf32>, %w: tensor<5xf32>, %m: tensor<3xf32>, %r: tensor<3xf32>, "
              "%dy: tensor<3x5xf32>",
              "%0 = graph.layer_norm_grad %x, %w, %m, %r, %dy : (tensor<3x5xf32>, tensor<5xf32>, "
              "tensor<3xf32>, tensor<3xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>");
}

TEST(Stages, OfRmsNormAndItsGradient) {
  checkStages("%x: tensor<2x3x5xf32>, %w: tensor<5xf32>",
              "%0, %r = graph.rms_norm %x, %w epsilon 1.0e-2 : (tensor<2x3x5xf32>, tensor<5xf32>) "
              "-> (tensor<2x3x5xf32>, tensor<2x3xf32>)");
  checkStages("%x: tensor<3x5xf32>, %w: tensor<5xf32>, %r: tensor<3xf32>, %dy: tensor<3x5xf32>",
              "%0 = graph.rms_norm_grad %x, %w, %r, %dy : (tensor<3x5xf32>, tensor<5xf32>, "
              "tensor<3xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>");
}

TEST(Stages, OfSoftmaxAndItsGradient) {
  checkStages("%x: tensor<2x3x5xf32>", "%0 = graph.softmax %x : tensor<2x3x5xf32>");
  checkStages("%y: tensor<3x5xf32>, %dy: tensor<3x5xf32>",
              "%0 = graph.softmax_grad %y, %dy : tensor<3x5xf32>");
}

TEST(Stages, OfCrossEntropyWithAndWithoutIgnoredTargets) {
  for (const char *ignoring : {"", " ignoring 1"})
    checkStages("%x: tensor<4x3x5xf32>, %t: tensor<4x3xi32>",
                std::string("%0, %l = graph.cross_entropy %x, %t") + ignoring +
                    " : (tensor<4x3x5xf32>, tensor<4x3xi32>) -> (tensor<4x3xf32>, "
                    "tensor<4x3xf32>)");
}

// Statistics of narrow rows are f32, and results have the narrow type.
TEST(Stages, OfNarrowFloats) {
  checkStages("%x: tensor<3x4xbf16>, %w: tensor<4xbf16>",
              "%0, %r = graph.rms_norm %x, %w : (tensor<3x4xbf16>, tensor<4xbf16>) -> "
              "(tensor<3x4xbf16>, tensor<3xf32>)");
}

} // namespace
