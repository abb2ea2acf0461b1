// Compares the scalar bodies of pointwise ops with formulas and published numbers.
#include "Interpreter.h"

#include "dialects/graph/Philox.h"
#include "dialects/graph/Points.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dtc::graph;

namespace {

class Points : public testing::Test {
protected:
  Points() { context.loadDialect<GraphDialect>(); }

  // Runs the only op of a function with these arguments and values. Returns the elements of each
  // result.
  std::vector<std::vector<double>> run(const std::string &arguments, const std::string &op,
                                       std::vector<std::vector<double>> inputs) {
    auto module = parseSourceString<ModuleOp>(
        "graph.func @f(" + arguments + ") {\n" + op + "\n graph.return\n}", &context);
    if (!module) {
      ADD_FAILURE() << "does not parse: " << op;
      return {};
    }
    Block &block = cast<FuncOp>(module->getBody()->front()).getBody().front();
    Values values;
    for (auto [argument, data] : llvm::zip(block.getArguments(), inputs)) {
      values[argument] = Tensor::zeros(argument.getType());
      values[argument].data = data;
    }
    interpret(&block.front(), values);
    std::vector<std::vector<double>> results;
    for (Value result : block.front().getResults())
      results.push_back(values[result].data);
    return results;
  }

  uint32_t philox(uint64_t key, std::array<uint32_t, 4> counter) {
    Block block;
    OpBuilder plain(&context);
    Location loc = plain.getUnknownLoc();
    block.addArgument(plain.getI64Type(), loc);
    std::array<Value, 4> words;
    SmallVector<Scalar> inputs{{0, key}};
    for (size_t i = 0; i < 4; ++i) {
      words[i] = block.addArgument(plain.getI64Type(), loc);
      inputs.push_back({0, counter[i]});
    }
    plain.setInsertionPointToEnd(&block);
    ImplicitLocOpBuilder builder(loc, plain);
    Value word = buildPhilox(builder, block.getArgument(0), words);
    return static_cast<uint32_t>(interpretBody(block, inputs, word)[0].bits);
  }

  MLIRContext context;
};

// The known answers are those of Random123 (kat_vectors, philox4x32 10).
TEST_F(Points, PhiloxGivesThePublishedNumbers) {
  EXPECT_EQ(philox(0, {0, 0, 0, 0}), 0x6627e8d5u);
  EXPECT_EQ(philox(~uint64_t(0), {~0u, ~0u, ~0u, ~0u}), 0x408f276du);
  EXPECT_EQ(philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            0xd16cfe09u);
}

TEST_F(Points, DropoutKeepsByGlobalElement) {
  double seed = 11, step = 5;
  auto whole = run("%x: tensor<6x4xf32>, %s: tensor<i64>, %t: tensor<f32>",
                   "%0 = graph.dropout %x p 0.25 id 9 key(%s, %t) : tensor<6x4xf32>",
                   {std::vector<double>(24, 3.0), {seed}, {step}})[0];
  int kept = 0;
  for (uint32_t e = 0; e < 24; ++e) {
    bool isKept = philox(11, {e, 0, 9, 5}) >= 0x40000000u;
    EXPECT_EQ(whole[e], isKept ? 3.0 * static_cast<float>(1 / 0.75) : 0.0) << "element " << e;
    kept += isKept;
  }
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 24);
  // Samples 4 and 5 of the step draw the same numbers if they are a micro-batch of their own.
  auto last = run(
      "%x: tensor<2x4xf32>, %s: tensor<i64>, %t: tensor<f32>",
      "%0 = graph.dropout %x p 0.25 id 9 key(%s, %t) {first_sample = 4 : i64} : tensor<2x4xf32>",
      {std::vector<double>(8, 3.0), {seed}, {step}})[0];
  EXPECT_EQ(last, std::vector<double>(whole.begin() + 16, whole.end()));
  // Evaluation, which is step 0, drops nothing.
  auto evaluated = run("%x: tensor<6x4xf32>, %s: tensor<i64>, %t: tensor<f32>",
                       "%0 = graph.dropout %x p 0.25 id 9 key(%s, %t) : tensor<6x4xf32>",
                       {std::vector<double>(24, 3.0), {seed}, {0}})[0];
  EXPECT_EQ(evaluated, std::vector<double>(24, 3.0));
}

TEST_F(Points, DropoutCountsElementsOfTheGlobalShape) {
  auto part = run("%x: tensor<2x2xf32>, %s: tensor<i64>, %t: tensor<f32>",
                  "%0 = graph.dropout %x p 0.5 id 1 key(%s, %t) {global_shape = array<i64: 2, 7>} "
                  ": tensor<2x2xf32>",
                  {{1, 1, 1, 1}, {3}, {1}})[0];
  const uint32_t elements[] = {0, 1, 7, 8};
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(part[i], philox(3, {elements[i], 0, 1, 1}) >= 0x80000000u ? 2.0 : 0.0)
        << "element " << i;
}

// erf: torch.nn.functional.gelu(1.0) = 0.841344746; tanh: 0.841191990.
TEST_F(Points, GeluOfBothKinds) {
  EXPECT_NEAR(run("%x: tensor<1xf32>", "%0 = graph.gelu erf %x : tensor<1xf32>", {{1}})[0][0],
              0.841344746, 1e-7);
  EXPECT_NEAR(run("%x: tensor<1xf32>", "%0 = graph.gelu tanh %x : tensor<1xf32>", {{1}})[0][0],
              0.841191990, 1e-7);
}

TEST_F(Points, RotaryTableIsPositionTimesFrequency) {
  auto tables = run(
      "", "%0, %1 = graph.rotary_table [1.0, 0.25, 0.0625] : tensor<5x3xf32>, tensor<5x3xf32>", {});
  const double frequencies[] = {1.0, 0.25, 0.0625};
  for (int t = 0; t < 5; ++t)
    for (int i = 0; i < 3; ++i) {
      EXPECT_DOUBLE_EQ(tables[0][t * 3 + i], std::cos(t * frequencies[i]));
      EXPECT_DOUBLE_EQ(tables[1][t * 3 + i], std::sin(t * frequencies[i]));
    }
}

TEST_F(Points, SelectEqualPassesTiesToAll) {
  EXPECT_EQ(run("%x: tensor<3xf32>, %y: tensor<1xf32>, %d: tensor<3xf32>",
                "%0 = graph.select_equal %x, %y, %d : (tensor<3xf32>, tensor<1xf32>, "
                "tensor<3xf32>) -> tensor<3xf32>",
                {{1, 4, 4}, {4}, {7, 8, 9}})[0],
            (std::vector<double>{0, 8, 9}));
}

// There are two elements. The second one is padding and must stay zero.
TEST_F(Points, AdamWFollowsThePaper) {
  double p = 0.5, g = 0.2 * 0.5, m = 0.1, v = 0.04, lr = 0.01, t = 3;
  auto found =
      run("%p: tensor<2xf32>, %g: tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>, %l: "
          "tensor<f32>, "
          "%t: tensor<f32>, %s: tensor<f32>, %a: tensor<f32>",
          "%0:3 = graph.adamw %p, %g, %m, %v lr %l step %t grad_scale %s apply %a {beta1 = 0.9, "
          "beta2 = "
          "0.999, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<2xf32>",
          {{p, 0}, {0.2, 0}, {m, 0}, {v, 0}, {lr}, {t}, {0.5}, {1}});
  double m1 = 0.9 * m + 0.1 * g, v1 = 0.999 * v + 0.001 * g * g;
  double change = m1 / (1 - std::pow(0.9, t)) / (std::sqrt(v1 / (1 - std::pow(0.999, t))) + 1e-8);
  EXPECT_NEAR(found[0][0], p - lr * (change + 0.1 * p), 1e-7);
  EXPECT_NEAR(found[1][0], m1, 1e-7);
  EXPECT_NEAR(found[2][0], v1, 1e-7);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(found[i][1], 0.0);
}

// beta 0 has no bias to correct, although its logarithm does not exist.
TEST_F(Points, AdamWWithoutMomentumIsTheSignOfTheGradient) {
  auto found = run("%p: tensor<1xf32>, %l: tensor<f32>",
                   "%0:3 = graph.adamw %p, %p, %p, %p lr %l step %l grad_scale %l apply %l {beta1 "
                   "= 0.0, beta2 = "
                   "0.0, epsilon = 1.0e-8, weight_decay = 0.0} : tensor<1xf32>",
                   {{-2}, {1}});
  EXPECT_NEAR(found[0][0], -1.0, 1e-6);
}

TEST_F(Points, SgdKeepsABuffer) {
  auto found = run(
      "%p: tensor<1xf32>, %g: tensor<1xf32>, %b: tensor<1xf32>, %l: tensor<f32>, %s: tensor<f32>, "
      "%a: "
      "tensor<f32>",
      "%0:2 = graph.sgd %p, %g, %b lr %l grad_scale %s apply %a {momentum = 0.5, weight_decay = "
      "0.25} : tensor<1xf32>",
      {{4}, {2}, {6}, {0.5}, {0.5}, {1}});
  EXPECT_DOUBLE_EQ(found[1][0], 0.5 * 6 + 1);
  EXPECT_DOUBLE_EQ(found[0][0], 4 - 0.5 * (4 + 0.25 * 4));
}

// You et al.: the ratio is the parameter's norm over the norm of its update, times a coefficient.
// With decay the update contains that much of the parameter. The ratio is 1 if either norm is zero.
TEST_F(Points, TrustRatioOfNorms) {
  auto ratio = [&](double squares, double squaresOfDirection) {
    return run("%p: tensor<f32>, %d: tensor<f32>",
               "%0 = graph.trust_ratio %p, %d coefficient 0.5 decay 0.25",
               {{squares}, {squaresOfDirection}})[0][0];
  };
  EXPECT_DOUBLE_EQ(ratio(16, 4), 0.5 * 4 / (2 + 0.25 * 4));
  EXPECT_DOUBLE_EQ(ratio(0, 4), 1) << "a parameter that is all zero has to start moving";
  EXPECT_DOUBLE_EQ(ratio(16, 0), 1);
}

// You et al. 2017, algorithm 1, with clipping and decay.
TEST_F(Points, LarsKeepsABuffer) {
  auto found = run("%p: tensor<1xf32>, %g: tensor<1xf32>, %b: tensor<1xf32>, %l: tensor<f32>, %s: "
                   "tensor<f32>, %r: tensor<f32>, %a: tensor<f32>",
                   "%0:2 = graph.lars %p, %g, %b lr %l grad_scale %s ratio %r apply %a {momentum = "
                   "0.5, weight_decay = 0.25} : tensor<1xf32>",
                   {{4}, {2}, {6}, {0.5}, {0.5}, {3}, {1}});
  EXPECT_DOUBLE_EQ(found[1][0], 0.5 * 6 + 0.5 * 3 * (0.5 * 2 + 0.25 * 4));
  EXPECT_DOUBLE_EQ(found[0][0], 4 - found[1][0]);
}

// This holds for any content of the gradient.
TEST_F(Points, OptimizersThatDoNotApplyAStepKeepWhatTheyHave) {
  double nan = std::numeric_limits<double>::quiet_NaN(),
         infinity = std::numeric_limits<double>::infinity();
  for (double g : {nan, infinity, -infinity, 0.5}) {
    auto adamw = run("%p: tensor<1xf32>, %g: tensor<1xf32>, %m: tensor<1xf32>, %v: tensor<1xf32>, "
                     "%l: tensor<f32>, %t: tensor<f32>, %s: tensor<f32>, %a: tensor<f32>",
                     "%0:3 = graph.adamw %p, %g, %m, %v lr %l step %t grad_scale %s apply %a "
                     "{beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8, weight_decay = 0.1} : "
                     "tensor<1xf32>",
                     {{0.5}, {g}, {0.25}, {2}, {0.01}, {0}, {g}, {0}});
    EXPECT_EQ(adamw[0][0], 0.5);
    EXPECT_EQ(adamw[1][0], 0.25);
    EXPECT_EQ(adamw[2][0], 2);
    auto sgd = run("%p: tensor<1xf32>, %g: tensor<1xf32>, %b: tensor<1xf32>, %l: tensor<f32>, %s: "
                   "tensor<f32>, %a: tensor<f32>",
                   "%0:2 = graph.sgd %p, %g, %b lr %l grad_scale %s apply %a {momentum = 0.5, "
                   "weight_decay = 0.25} : tensor<1xf32>",
                   {{4}, {g}, {6}, {0.5}, {g}, {0}});
    EXPECT_EQ(sgd[0][0], 4);
    EXPECT_EQ(sgd[1][0], 6);
  }
}

TEST_F(Points, KnowsWhatIsFinite) {
  double nan = std::numeric_limits<double>::quiet_NaN(),
         infinity = std::numeric_limits<double>::infinity();
  auto isFinite = [&](double x) {
    return run("%x: tensor<f32>", "%0 = graph.is_finite %x", {{x}})[0][0];
  };
  for (double x : {0.0, -1.0, 3.4e38, -3.4e38})
    EXPECT_EQ(isFinite(x), 1) << x;
  for (double x : {nan, -nan, infinity, -infinity})
    EXPECT_EQ(isFinite(x), 0) << x;
}

// The rules are those of a GradScaler with an interval of 3, between 1 and 8.
TEST_F(Points, LossScaleGrowsAndHalves) {
  auto next = [&](double scale, double good, double apply) {
    auto found = run("%s: tensor<f32>, %g: tensor<f32>, %a: tensor<f32>",
                     "%0:2 = graph.next_loss_scale %s, %g apply %a growth_interval 3 largest 8.0",
                     {{scale}, {good}, {apply}});
    return std::pair(found[0][0], found[1][0]);
  };
  EXPECT_EQ(next(4, 0, 1), std::pair(4.0, 1.0));
  EXPECT_EQ(next(4, 1, 1), std::pair(4.0, 2.0));
  EXPECT_EQ(next(4, 2, 1), std::pair(8.0, 0.0));
  EXPECT_EQ(next(8, 2, 1), std::pair(8.0, 0.0));
  EXPECT_EQ(next(4, 2, 0), std::pair(2.0, 0.0));
  EXPECT_EQ(next(1, 2, 0), std::pair(1.0, 0.0));
}

TEST_F(Points, ClipScaleIsAtMostOne) {
  const std::string op = "%0 = graph.clip_scale %n max 2.0";
  EXPECT_DOUBLE_EQ(run("%n: tensor<f32>", op, {{1}})[0][0], 1);
  EXPECT_NEAR(run("%n: tensor<f32>", op, {{8}})[0][0], 0.25, 1e-6);
  EXPECT_DOUBLE_EQ(run("%n: tensor<f32>", op, {{0}})[0][0], 1);
}

TEST_F(Points, InverseOfZeroIsZero) {
  const std::string op = "%0 = graph.inverse_or_zero %n";
  EXPECT_DOUBLE_EQ(run("%n: tensor<f32>", op, {{4}})[0][0], 0.25);
  EXPECT_DOUBLE_EQ(run("%n: tensor<f32>", op, {{0}})[0][0], 0);
}

TEST_F(Points, LearningRateWarmsUpAndFalls) {
  auto rate = [&](const std::string &op, double step) {
    return run("%s: tensor<f32>, %b: tensor<f32>, %n: tensor<f32>",
               "%0 = graph.learning_rate " + op, {{step}, {0.5}, {110}})[0][0];
  };
  const std::string cosine = "cosine(%s, %b, %n) warmup 10 min_ratio 0.1";
  EXPECT_DOUBLE_EQ(rate(cosine, 1), 0.05);
  EXPECT_DOUBLE_EQ(rate(cosine, 10), 0.5);
  EXPECT_NEAR(rate(cosine, 60), 0.5 * 0.55, 1e-7);
  EXPECT_NEAR(rate(cosine, 110), 0.05, 1e-7);
  EXPECT_NEAR(rate(cosine, 200), 0.05, 1e-7);
  const std::string constant = "constant(%s, %b, %n) warmup 0 min_ratio 0.0";
  EXPECT_DOUBLE_EQ(rate(constant, 1), 0.5);
  EXPECT_DOUBLE_EQ(rate(constant, 500), 0.5);
  // A run that is no longer than its warm-up must not divide by zero.
  EXPECT_DOUBLE_EQ(rate("cosine(%s, %b, %n) warmup 110 min_ratio 0.0", 110), 0.5);
}

// bf16 operands are computed in f32 and rounded once.
TEST_F(Points, NarrowTypesComputeInF32) {
  auto module = parseSourceString<ModuleOp>(
      "graph.func @f(%x: tensor<4xbf16>) {\n %0 = graph.silu %x : tensor<4xbf16>\n graph.return\n}",
      &context);
  ASSERT_TRUE(module);
  Operation *op = &cast<FuncOp>(module->getBody()->front()).getBody().front().front();
  Block block;
  OpBuilder builder(&context);
  builder.setInsertionPointToEnd(&block);
  block.addArgument(builder.getBF16Type(), op->getLoc());
  SmallVector<Value> results =
      cast<PointwiseOpInterface>(op).buildPoint(builder, op->getLoc(), block.getArgument(0), {});
  EXPECT_TRUE(results[0].getType().isBF16());
  EXPECT_TRUE(isa<arith::ExtFOp>(block.front()));
  EXPECT_TRUE(isa<arith::TruncFOp>(block.back()));
  for (Operation &inner : block)
    EXPECT_TRUE(isa<arith::TruncFOp>(inner) || inner.getResult(0).getType().isF32());
}

} // namespace
