// Tests layers of experts: their results, and their gradients against central differences.
#include "Interpreter.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Moe.h"
#include "dialects/graph/MoeOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/graph/ReverseMode.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;

namespace {

TEST(ExpertCapacity, IsRoundedUpOnceAndAtLeastOne) {
  EXPECT_EQ(*expertCapacity(64, 2, 1, 8), 16);
  EXPECT_EQ(*expertCapacity(64, 2, 1.25, 8), 20);
  EXPECT_EQ(*expertCapacity(64, 2, 1.1, 8), 18);   // 17.6
  EXPECT_EQ(*expertCapacity(10, 1, 1.1, 1), 11);   // 11.000000000000002 in doubles
  EXPECT_EQ(*expertCapacity(100, 3, 0.29, 3), 29); // 28.999999999999996
  EXPECT_EQ(*expertCapacity(1, 1, 0.1, 8), 1);
  EXPECT_TRUE(failed(expertCapacity(int64_t(1) << 40, 8, 1e9, 1)));
}

// 2 samples of 6 tokens in `groups` groups, 3 columns, 4 experts of width 2, top 2.
struct LayerSpec {
  int64_t groups = 1;
  double capacity = 1;
  bool normalised = true, weightedDispatch = false;
};

std::string layerText(const LayerSpec &spec) {
  int64_t group = 6 / spec.groups;
  int64_t rows = spec.groups * *expertCapacity(group, 2, spec.capacity, 4);
  std::string in = "tensor<4x2x" + std::to_string(rows) + "x3xf32>",
              hidden = "tensor<4x2x" + std::to_string(rows) + "x2xf32>";
  std::string routing =
      " group " + std::to_string(group) + " capacity " + std::to_string(spec.capacity) + " : ";
  const std::string x = "tensor<2x6x3xf32>", logits = "tensor<2x6x4xf32>",
                    choice = "tensor<2x6x2xf32>", index = "tensor<2x6x2xi32>",
                    perSample = "tensor<2x4xf32>", up = "tensor<4x2x3xf32>",
                    down = "tensor<4x2x3xf32>";
  std::string weighted = choice + ") -> ";
  return "graph.func @f(%x: " + x + ", %g: tensor<4x3xf32>, %u: " + up + ", %d: " + down +
         ") -> (" + x + ", tensor<2xf32>) {\n" + "%l = graph.linear %x, %g transposed : (" + x +
         ", tensor<4x3xf32>) -> " + logits + "\n" +
         "%w, %e, %s, %load, %i = graph.moe_router %l top 2 " +
         (spec.normalised ? "normalised " : "") + "group " + std::to_string(group) + " : (" +
         logits + ") -> (" + choice + ", " + index + ", " + index + ", " + perSample + ", " +
         perSample + ")\n" + "%r = graph.moe_dispatch %x to %e at %s" +
         (spec.weightedDispatch ? " weighted %w" : "") + routing + "(" + x + ", " + index + ", " +
         index + (spec.weightedDispatch ? ", " + choice : "") + ") -> " + in + "\n" +
         "%h = graph.expert_linear %r, %u transposed : (" + in + ", " + up + ") -> " + hidden +
         "\n%a = graph.silu %h : " + hidden + "\n" + "%o = graph.expert_linear %a, %d : (" +
         hidden + ", " + down + ") -> " + in + "\n" +
         "%y = graph.moe_combine %o from %e at %s weighted %w" + routing + "(" + in + ", " + index +
         ", " + index + ", " + weighted + x + "\n" +
         "%b = graph.moe_balance_loss %load, %i tokens 6 coefficient 0.3 : (" + perSample + ", " +
         perSample + ") -> tensor<2xf32>\n" + "graph.return %y, %b : " + x + ", tensor<2xf32>\n}";
}

class Layer {
public:
  explicit Layer(const LayerSpec &spec) {
    context.loadDialect<GraphDialect>();
    module = parseSourceString<ModuleOp>(layerText(spec), &context);
    if (!module)
      return;
    func = cast<FuncOp>(module->getBody()->front());
    for (Operation &op : block().without_terminator())
      ops.push_back(&op);
    std::mt19937 engine(5);
    for (Value argument : func.getArguments())
      inputs[argument] = randomLike(argument.getType(), engine);
    for (Value result : results())
      seeds.push_back(randomLike(result.getType(), engine));
  }

  Block &block() { return func.getBody().front(); }
  OperandRange results() { return block().getTerminator()->getOperands(); }

  Values run(const Values &from) {
    Values values = from;
    for (Operation *op : ops)
      interpret(op, values);
    return values;
  }

  // Returns the results weighted by `seeds`, as one number.
  double objective(const Values &from) {
    Values values = run(from);
    double sum = 0;
    for (auto [result, seed] : llvm::zip(results(), seeds))
      for (auto [value, weight] : llvm::zip(values[result].data, seed.data))
        sum += value * weight;
    return sum;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  FuncOp func;
  SmallVector<Operation *> ops;
  Values inputs;
  std::vector<Tensor> seeds;

private:
  static Tensor randomLike(Type type, std::mt19937 &engine) {
    Tensor tensor = Tensor::zeros(type);
    for (double &value : tensor.data)
      value = std::uniform_real_distribution<double>(-1.5, 1.5)(engine);
    return tensor;
  }
};

void checkGradients(const LayerSpec &spec) {
  Layer layer(spec);
  ASSERT_TRUE(layer.module) << layerText(spec);
  SmallVector<Value> results(layer.results());
  Values values = layer.run(layer.inputs);
  OpBuilder builder(layer.block().getTerminator());
  ReverseMode reverse(builder, [](BlockCallOpInterface, ValueRange, SmallVectorImpl<Value> &) {
    return failure();
  });
  for (Value argument : layer.func.getArguments())
    reverse.want(argument);
  reverse.markActive(layer.ops);
  for (auto [result, seed] : llvm::zip(results, layer.seeds)) {
    Value gradient = ConstantOp::create(builder, layer.func.getLoc(), result.getType(),
                                        builder.getF64FloatAttr(0));
    values[gradient] = seed;
    reverse.seed(result, gradient);
  }
  Operation *last = layer.block().getTerminator()->getPrevNode();
  ASSERT_TRUE(succeeded(reverse.run(layer.ops)));
  for (Operation *op = last->getNextNode(); !isa<ReturnOp>(op); op = op->getNextNode()) {
    ASSERT_TRUE(succeeded(verify(op))) << op->getName().getStringRef().str();
    interpret(op, values);
  }
  const double step = 1e-6;
  for (Value argument : layer.func.getArguments()) {
    Value gradient = reverse.gradientOf(argument);
    ASSERT_TRUE(gradient);
    ASSERT_EQ(gradient.getType(), argument.getType());
    for (size_t e = 0; e < layer.inputs[argument].data.size(); ++e) {
      Values moved = layer.inputs;
      moved[argument].data[e] += step;
      double after = layer.objective(moved);
      moved[argument].data[e] -= 2 * step;
      double before = layer.objective(moved);
      EXPECT_NEAR(values[gradient].data[e], (after - before) / (2 * step), 3e-6)
          << "argument " << cast<BlockArgument>(argument).getArgNumber() << " element " << e;
    }
  }
}

TEST(MoeGradient, OfALayerWithRoomForAll) { checkGradients({1, 2.0, true, false}); }
TEST(MoeGradient, OfALayerThatDropsTokens) { checkGradients({2, 0.7, true, false}); }
TEST(MoeGradient, OfALayerOfGroups) { checkGradients({3, 1.0, true, false}); }
TEST(MoeGradient, OfPlainProbabilities) { checkGradients({1, 1.0, false, false}); }
TEST(MoeGradient, OfWeightsAtBothEnds) { checkGradients({2, 1.0, true, true}); }

// If there is a row for every choice, a token gets the weighted sum of its two best experts'
// outputs.
TEST(MoeLayer, IsTheWeightedSumOfTheChosenExperts) {
  Layer layer({3, 2.0, true, false});
  ASSERT_TRUE(layer.module);
  Values values = layer.run(layer.inputs);
  auto &x = layer.inputs[layer.func.getArgument(0)].data;
  auto &gate = layer.inputs[layer.func.getArgument(1)].data;
  auto &up = layer.inputs[layer.func.getArgument(2)].data;
  auto &down = layer.inputs[layer.func.getArgument(3)].data;
  for (int64_t t = 0; t < 12; ++t) {
    std::vector<std::pair<double, int64_t>> scores;
    for (int64_t e = 0; e < 4; ++e) {
      double score = 0;
      for (int64_t h = 0; h < 3; ++h)
        score += x[t * 3 + h] * gate[e * 3 + h];
      scores.push_back({score, e});
    }
    std::sort(scores.rbegin(), scores.rend());
    double first = 1 / (1 + std::exp(scores[1].first - scores[0].first));
    std::vector<double> wanted(3, 0.0);
    for (int k = 0; k < 2; ++k) {
      int64_t e = scores[k].second;
      for (int64_t f = 0; f < 2; ++f) {
        double hidden = 0;
        for (int64_t h = 0; h < 3; ++h)
          hidden += x[t * 3 + h] * up[(e * 2 + f) * 3 + h];
        hidden /= 1 + std::exp(-hidden);
        for (int64_t h = 0; h < 3; ++h)
          wanted[h] += (k == 0 ? first : 1 - first) * hidden * down[(e * 2 + f) * 3 + h];
      }
    }
    for (int64_t h = 0; h < 3; ++h)
      EXPECT_NEAR(values[layer.results()[0]].data[t * 3 + h], wanted[h], 1e-6) << t << " " << h;
  }
}

// All tokens choose experts 3 and 1, so the third token of a group finds them full.
TEST(MoeLayer, DropsWhatFindsNoSlot) {
  Layer layer({2, 1.0, true, false});
  ASSERT_TRUE(layer.module);
  Values inputs = layer.inputs;
  inputs[layer.func.getArgument(0)].data.assign(36, 1.0);
  inputs[layer.func.getArgument(1)].data = {0, 0, 0, 1, 1, 1, -1, -1, -1, 2, 2, 2};
  Values values = layer.run(inputs);
  auto &y = values[layer.results()[0]].data;
  for (int64_t t = 0; t < 12; ++t)
    for (int64_t h = 0; h < 3; ++h) {
      if (t % 3 == 2)
        EXPECT_EQ(y[t * 3 + h], 0) << t;
      else
        EXPECT_EQ(y[t * 3 + h], y[h]) << t;
    }
  EXPECT_NE(y[0], 0);
}

// The load is 6 for two of four experts, and p is almost 1 for one of them: 0.3 * 4 * (1 * 1).
TEST(MoeLayer, BalanceLossIsHighestWhereOneExpertHasAll) {
  Layer layer({1, 1.0, true, false});
  ASSERT_TRUE(layer.module);
  Values inputs = layer.inputs;
  inputs[layer.func.getArgument(0)].data.assign(36, 1.0);
  inputs[layer.func.getArgument(1)].data = {0, 0, 0, 10, 10, 10, 0, 0, 0, 0, 0, 0};
  EXPECT_NEAR(layer.run(inputs)[layer.results()[1]].data[0], 0.3 * 4, 1e-6);
  inputs[layer.func.getArgument(1)].data.assign(12, 0.0);
  // All tokens are equal: experts 0 and 1 win every tie, but p is even: 0.3 * 4 * 2 * 1/4.
  EXPECT_NEAR(layer.run(inputs)[layer.results()[1]].data[0], 0.3 * 2, 1e-12);
}

TEST(MoeGradient, DoesNotFlowThroughTheLoad) {
  MLIRContext context;
  context.loadDialect<GraphDialect>();
  auto module = parseSourceString<ModuleOp>(
      "graph.func @f(%l: tensor<1x4x2xf32>, %d: tensor<1x2xf32>) {\n"
      "%w, %e, %s, %load, %i = graph.moe_router %l top 1 group 4 : (tensor<1x4x2xf32>) -> "
      "(tensor<1x4x1xf32>, tensor<1x4x1xi32>, tensor<1x4x1xi32>, tensor<1x2xf32>, "
      "tensor<1x2xf32>)\ngraph.return\n}",
      &context);
  ASSERT_TRUE(module);
  auto func = cast<FuncOp>(module->getBody()->front());
  auto router = cast<MoeRouterOp>(func.getBody().front().front());
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  OpBuilder builder(router->getNextNode());
  SmallVector<Value> seeds(5), grads;
  seeds[3] = func.getArgument(1);
  EXPECT_TRUE(failed(router.buildGradient(builder, seeds, {true}, grads)));
  EXPECT_EQ(message, "'graph.moe_router' op has no gradient through 'load', which counts choices");
}

TEST(PlanOnly, NamesTheFirstOpThatCannotBeCompiled) {
  Layer layer({});
  ASSERT_TRUE(layer.module);
  std::string message;
  ScopedDiagnosticHandler handler(&layer.context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  EXPECT_TRUE(failed(checkCompilable(*layer.module)));
  EXPECT_EQ(message,
            "'graph.moe_router' op has no kernels: experts with a capacity can be planned, "
            "not compiled; graph.route and the ops beside it drop nothing (a config.json "
            "without 'moe_expert_capacity_factor')");
}

} // namespace
