// Compares every op's gradient with central differences of the op. The interpreter runs both.
#include "Interpreter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace mlir;
using namespace dtc::graph;

namespace {

struct Parsed {
  Parsed() { context.loadDialect<GraphDialect>(); }

  // Returns the only op of a function with these arguments, such as ("%x: tensor<2xf32>",
  // "graph.exp %x : tensor<2xf32>").
  Operation *parse(const std::string &arguments, const std::string &op) {
    module = parseSourceString<ModuleOp>(
        "graph.func @f(" + arguments + ") {\n" + op + "\n graph.return\n}", &context);
    if (!module)
      return nullptr;
    auto func = cast<FuncOp>(module->getBody()->front());
    block = &func.getBody().front();
    return &block->front();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Block *block = nullptr;
};

class RandomValues {
public:
  // Returns numbers of both signs away from 0, so that maxima and logarithms are smooth, and small
  // integers for ids.
  Tensor random(Type type, bool positive) {
    Tensor tensor = Tensor::zeros(type);
    bool isInteger = isa<IntegerType>(getElementTypeOrSelf(type));
    for (double &value : tensor.data) {
      double magnitude = std::uniform_real_distribution<double>(0.2, 1.5)(engine);
      bool isNegative = !positive && engine() % 2 == 0;
      value = isInteger ? static_cast<double>(engine() % 3) : isNegative ? -magnitude : magnitude;
    }
    return tensor;
  }

private:
  std::mt19937 engine{7};
};

double dot(const Tensor &a, const Tensor &b) {
  double sum = 0;
  for (size_t i = 0; i < a.data.size(); ++i)
    sum += a.data[i] * b.data[i];
  return sum;
}

// Checks the gradients of `op`'s float operands, up to `numDifferentiable` of them, for gradients
// of its first `numResults` results. Its operand of integers has the values `integers` where there
// are any.
void checkGradient(const std::string &arguments, const std::string &text, bool positive = false,
                   unsigned numDifferentiable = 3, unsigned numResults = 1,
                   ArrayRef<double> integers = {}) {
  SCOPED_TRACE(text);
  Parsed parsed;
  Operation *op = parsed.parse(arguments, text);
  ASSERT_NE(op, nullptr);
  RandomValues source;
  Values values;
  for (Value argument : parsed.block->getArguments())
    values[argument] = source.random(argument.getType(), positive);
  for (Value argument : parsed.block->getArguments())
    if (!integers.empty() && isa<IntegerType>(getElementTypeOrSelf(argument)))
      values[argument].data.assign(integers.begin(), integers.end());
  interpret(op, values);

  SmallVector<Value> resultGrads(op->getNumResults());
  for (unsigned result = 0; result < numResults; ++result) {
    resultGrads[result] = parsed.block->addArgument(op->getResult(result).getType(), op->getLoc());
    values[resultGrads[result]] = source.random(resultGrads[result].getType(), false);
  }
  auto objective = [&](Values &at) {
    double sum = 0;
    for (unsigned result = 0; result < numResults; ++result)
      sum += dot(at[op->getResult(result)], values[resultGrads[result]]);
    return sum;
  };
  std::vector<char> needed(op->getNumOperands());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    needed[i] = i < numDifferentiable && isa<FloatType>(getElementTypeOrSelf(operand));
  SmallVector<Value> grads;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  ASSERT_TRUE(succeeded(cast<GradientOpInterface>(op).buildGradient(
      builder, resultGrads, ArrayRef<bool>(reinterpret_cast<bool *>(needed.data()), needed.size()),
      grads)));
  ASSERT_EQ(grads.size(), op->getNumOperands());
  for (Operation *built = op->getNextNode(); !isa<ReturnOp>(built); built = built->getNextNode()) {
    ASSERT_TRUE(succeeded(verify(built))) << built->getName().getStringRef().str();
    interpret(built, values);
  }

  const double step = 1e-5;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    ASSERT_EQ(static_cast<bool>(grads[i]), static_cast<bool>(needed[i])) << "operand " << i;
    if (!needed[i])
      continue;
    ASSERT_EQ(grads[i].getType(), operand.getType()) << "operand " << i;
    Tensor analytic = values[grads[i]];
    for (size_t e = 0; e < analytic.data.size(); ++e) {
      Values moved = values;
      moved[operand].data[e] += step;
      interpret(op, moved);
      double after = objective(moved);
      moved[operand].data[e] -= 2 * step;
      interpret(op, moved);
      double before = objective(moved);
      // Constants in bodies are f32, so the tolerance is not below 1e-6.
      EXPECT_NEAR(analytic.data[e], (after - before) / (2 * step), 2e-6)
          << "operand " << i << " element " << e;
    }
  }
}

TEST(Gradient, OfLinearForEveryLayoutOfTheWeight) {
  checkGradient(
      "%x: tensor<2x3x4xf32>, %w: tensor<4x2x3xf32>",
      "%0 = graph.linear %x, %w : (tensor<2x3x4xf32>, tensor<4x2x3xf32>) -> tensor<2x3x2x3xf32>");
  checkGradient("%x: tensor<2x3x4xf32>, %w: tensor<5x4xf32>",
                "%0 = graph.linear %x, %w transposed : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> "
                "tensor<2x3x5xf32>");
  checkGradient("%x: tensor<2x3x2xf32>, %w: tensor<3x2x5xf32>",
                "%0 = graph.linear %x, %w contract 2 : (tensor<2x3x2xf32>, tensor<3x2x5xf32>) -> "
                "tensor<2x5xf32>");
  checkGradient(
      "%x: tensor<2x3x2xf32>, %w: tensor<5x3x2xf32>",
      "%0 = graph.linear %x, %w contract 2 transposed : (tensor<2x3x2xf32>, tensor<5x3x2xf32>) -> "
      "tensor<2x5xf32>");
}

TEST(Gradient, OfMatmulForEveryTransposition) {
  checkGradient(
      "%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>",
      "%0 = graph.matmul %a, %b : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>");
  checkGradient("%a: tensor<2x4x3xf32>, %b: tensor<2x4x5xf32>",
                "%0 = graph.matmul %a transposed, %b : (tensor<2x4x3xf32>, tensor<2x4x5xf32>) -> "
                "tensor<2x3x5xf32>");
  checkGradient("%a: tensor<2x3x4xf32>, %b: tensor<2x5x4xf32>",
                "%0 = graph.matmul %a, %b transposed : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> "
                "tensor<2x3x5xf32>");
  checkGradient(
      "%a: tensor<4x3xf32>, %b: tensor<5x4xf32>",
      "%0 = graph.matmul %a transposed, %b transposed : (tensor<4x3xf32>, tensor<5x4xf32>) -> "
      "tensor<3x5xf32>");
}

TEST(Gradient, OfConvolutionForEveryWayOfMoving) {
  struct Case {
    const char *x, *w, *window, *y;
  };
  const Case cases[] = {{"2x3x5x4", "4x3x3x2", "", "2x4x3x3"},
                        {"2x3x5x4", "4x3x3x3", "padding [1, 1]", "2x4x5x4"},
                        {"1x2x7x6", "2x2x3x2", "stride [2, 3] padding [2, 1]", "1x2x5x3"},
                        {"1x2x7x6", "2x2x3x2", "padding [1, 0] dilation [3, 2]", "1x2x3x4"},
                        // The groups are 2, and one for every channel.
                        {"2x4x3x3", "6x2x2x2", "", "2x6x2x2"},
                        {"1x3x4x4", "3x1x3x3", "stride [2, 2] padding [1, 1]", "1x3x2x2"}};
  auto type = [](const char *shape) { return "tensor<" + std::string(shape) + "xf32>"; };
  for (const Case &c : cases) {
    checkGradient("%x: " + type(c.x) + ", %w: " + type(c.w),
                  "%0 = graph.conv2d %x, %w " + std::string(c.window) + " : (" + type(c.x) + ", " +
                      type(c.w) + ") -> " + type(c.y));
    checkGradient("%y: " + type(c.y) + ", %w: " + type(c.w),
                  "%0 = graph.conv_transpose2d %y, %w " + std::string(c.window) + " : (" +
                      type(c.y) + ", " + type(c.w) + ") -> " + type(c.x));
  }
}

TEST(Gradient, OfRowsOfRoutedTokens) {
  const std::string tokens = "tensor<2x3x4xf32>", rows = "tensor<3x2x2x4xf32>";
  const std::string choices = "tensor<2x3x2xi32>", weights = "tensor<2x3x2xf32>";
  // Each of the 12 choices has a row of its own.
  const double rowOf[] = {7, 2, 11, 0, 5, 9, 1, 8, 3, 10, 6, 4};
  const std::string of[] = {"%x: " + tokens + ", %p: " + choices,
                            "%x: " + rows + ", %p: " + choices};
  for (bool packs : {true, false}) {
    const std::string name = packs ? "%0 = graph.pack_rows" : "%0 = graph.unpack_rows";
    const std::string &x = packs ? tokens : rows, &result = packs ? rows : tokens;
    checkGradient(of[!packs], name + " %x at %p : (" + x + ", " + choices + ") -> " + result, false,
                  3, 1, rowOf);
    checkGradient(of[!packs] + ", %w: " + weights,
                  name + " %x at %p weighted %w : (" + x + ", " + choices + ", " + weights +
                      ") -> " + result,
                  false, 3, 1, rowOf);
  }
}

TEST(Gradient, OfProductsOfTheRowsOfExperts) {
  // Two samples choose the three experts 1 + 3, 0 and 2 + 4 times; two rows of twelve stay free.
  const double counts[] = {1, 0, 2, 3, 0, 4};
  const std::string x = "tensor<3x2x2x4xf32>", y = "tensor<3x2x2x5xf32>";
  for (auto [layout, w] :
       {std::pair("", "tensor<3x4x5xf32>"), std::pair(" transposed", "tensor<3x5x4xf32>")})
    checkGradient("%x: " + x + ", %w: " + w + ", %c: tensor<2x3xi32>",
                  "%0 = graph.grouped_linear %x, %w" + std::string(layout) + " by %c : (" + x +
                      ", " + w + ", tensor<2x3xi32>) -> " + y,
                  false, 3, 1, counts);
}

TEST(Gradient, OfPoolingWithWindowsThatOverlapOrLeaveOut) {
  for (const char *op : {"max_pool2d", "avg_pool2d"}) {
    std::string name = "%0 = graph." + std::string(op) + " %x kernel ";
    checkGradient("%x: tensor<2x3x4x6xf32>",
                  name + "[2, 3] stride [2, 3] : tensor<2x3x4x6xf32> -> tensor<2x3x2x2xf32>");
    checkGradient("%x: tensor<1x2x5x5xf32>",
                  name + "[3, 2] padding [1, 1] : tensor<1x2x5x5xf32> -> tensor<1x2x5x6xf32>");
    checkGradient("%x: tensor<1x2x7x5xf32>",
                  name + "[2, 2] stride [3, 4] : tensor<1x2x7x5xf32> -> tensor<1x2x2x1xf32>");
  }
}

TEST(Gradient, OfEmbeddingAddsRepeatedRows) {
  checkGradient(
      "%t: tensor<3x2xf32>, %i: tensor<2x4xi32>",
      "%0 = graph.embedding %t, %i : (tensor<3x2xf32>, tensor<2x4xi32>) -> tensor<2x4x2xf32>");
}

TEST(Gradient, OfNorms) {
  checkGradient("%x: tensor<2x3x4xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>",
                "%0, %m, %r = graph.layer_norm %x, %w, %b : (tensor<2x3x4xf32>, tensor<4xf32>, "
                "tensor<4xf32>) -> "
                "(tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)");
  checkGradient("%x: tensor<2x3x4xf32>, %w: tensor<4xf32>",
                "%0, %r = graph.rms_norm %x, %w : (tensor<2x3x4xf32>, tensor<4xf32>) -> "
                "(tensor<2x3x4xf32>, tensor<2x3xf32>)");
}

TEST(Gradient, OfBatchNorm) {
  const char *shapes[][2] = {{"5x2", "2"}, {"3x2x4", "2"}, {"2x3x3x2", "3"}, {"2x1x2x2x2", "1"}};
  for (auto [shape, channels] : shapes) {
    std::string x = "tensor<" + std::string(shape) + "xf32>",
                c = "tensor<" + std::string(channels) + "xf32>";
    checkGradient("%x: " + x + ", %w: " + c + ", %b: " + c,
                  "%y, %m, %v, %u = graph.batch_normalise %x, %w, %b epsilon 0.01 : (" + x + ", " +
                      c + ", " + c + ") -> (" + x + ", " + c + ", " + c + ", " + c + ")");
  }
}

TEST(Gradient, OfRotaryBothWays) {
  for (const char *inverse : {"", "inverse "})
    checkGradient(
        "%x: tensor<2x3x2x4xf32>, %c: tensor<3x2xf32>, %s: tensor<3x2xf32>",
        std::string("%0 = graph.rotary %x, %c, %s ") + inverse +
            ": (tensor<2x3x2x4xf32>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<2x3x2x4xf32>",
        false, /*numDifferentiable=*/1);
  checkGradient("%x: tensor<2x3x2x4xf32>, %c: tensor<2x3x2xf32>, %s: tensor<2x3x2xf32>",
                "%0 = graph.rotary %x, %c, %s : (tensor<2x3x2x4xf32>, tensor<2x3x2xf32>, "
                "tensor<2x3x2xf32>) -> tensor<2x3x2x4xf32>",
                false, /*numDifferentiable=*/1);
}

TEST(Gradient, OfAttentionWithGroupsMoreKeysAndMask) {
  for (const char *causal : {"", "causal ", "causal sliding 2 ", "soft_cap 0.5 "})
    for (unsigned numResults : {1, 2}) // of lse, too
      checkGradient(
          "%q: tensor<1x2x4x3xf32>, %k: tensor<1x3x2x3xf32>, %v: tensor<1x3x2x3xf32>",
          std::string("%0, %l = graph.attention %q, %k, %v ") + causal +
              "scale 0.7 : (tensor<1x2x4x3xf32>, tensor<1x3x2x3xf32>, tensor<1x3x2x3xf32>) -> "
              "(tensor<1x2x4x3xf32>, tensor<1x4x2xf32>)",
          false, /*numDifferentiable=*/3, numResults);
}

// Queries of samples with lengths of 0 see no key, but their sink.
TEST(Gradient, OfAttentionWithSinks) {
  for (const char *mask : {"", "causal ", "causal sliding 2 ", "causal soft_cap 0.5 "})
    for (unsigned numResults : {1, 2}) // of lse, too
      checkGradient(
          "%q: tensor<2x3x4x3xf32>, %k: tensor<2x4x2x3xf32>, %v: tensor<2x4x2x2xf32>, "
          "%z: tensor<4xf32>",
          std::string("%0, %l = graph.attention %q, %k, %v sinks %z ") + mask +
              "scale 0.7 : (tensor<2x3x4x3xf32>, tensor<2x4x2x3xf32>, tensor<2x4x2x2xf32>, "
              "tensor<4xf32>) -> (tensor<2x3x4x2xf32>, tensor<2x4x3xf32>)",
          false, /*numDifferentiable=*/4, numResults);
  checkGradient("%q: tensor<6x3x2x3xf32>, %k: tensor<6x3x2x3xf32>, %v: tensor<6x3x2x3xf32>, "
                "%z: tensor<2xf32>, %n: tensor<6xi32>",
                "%0, %l = graph.attention %q, %k, %v sinks %z lengths %n scale 0.7 : "
                "(tensor<6x3x2x3xf32>, tensor<6x3x2x3xf32>, tensor<6x3x2x3xf32>, tensor<2xf32>, "
                "tensor<6xi32>) -> (tensor<6x3x2x3xf32>, tensor<6x2x3xf32>)",
                false, /*numDifferentiable=*/4, /*numResults=*/2);
}

// Starts are small integers, so that queries are among the keys and in front of them.
TEST(Gradient, OfAttentionWithStarts) {
  for (const char *mask : {"", "causal ", "causal sliding 2 ", "causal prefix 3 "})
    checkGradient("%q: tensor<1x4x4x3xf32>, %k: tensor<1x3x2x3xf32>, %v: tensor<1x3x2x3xf32>, "
                  "%n: tensor<2xi32>, %s: tensor<4xf32>",
                  std::string("%0, %l = graph.attention %q, %k, %v slopes %s starts %n ") + mask +
                      "scale 0.7 : (tensor<1x4x4x3xf32>, tensor<1x3x2x3xf32>, "
                      "tensor<1x3x2x3xf32>, tensor<4xf32>, tensor<2xi32>) -> "
                      "(tensor<1x4x4x3xf32>, tensor<1x4x4xf32>)",
                  false, /*numDifferentiable=*/3, /*numResults=*/1);
}

// Prefixes, lengths of 0 to 2 keys, biases of every broadcast, slopes and values of another head
// dim.
TEST(Gradient, OfAttentionWithOtherMasksAndScores) {
  checkGradient("%q: tensor<1x3x4x3xf32>, %k: tensor<1x4x2x3xf32>, %v: tensor<1x4x2x2xf32>",
                "%0, %l = graph.attention %q, %k, %v causal prefix 3 scale 0.7 : "
                "(tensor<1x3x4x3xf32>, tensor<1x4x2x3xf32>, tensor<1x4x2x2xf32>) -> "
                "(tensor<1x3x4x2xf32>, tensor<1x4x3xf32>)",
                false, /*numDifferentiable=*/3, /*numResults=*/2);
  for (const char *mask : {"", "causal "})
    checkGradient("%q: tensor<6x3x2x3xf32>, %k: tensor<6x3x2x3xf32>, %v: tensor<6x3x2x3xf32>, "
                  "%n: tensor<6xi32>, %s: tensor<2xf32>",
                  std::string("%0, %l = graph.attention %q, %k, %v lengths %n slopes %s ") + mask +
                      "scale 0.7 : (tensor<6x3x2x3xf32>, tensor<6x3x2x3xf32>, "
                      "tensor<6x3x2x3xf32>, tensor<6xi32>, tensor<2xf32>) -> "
                      "(tensor<6x3x2x3xf32>, tensor<6x2x3xf32>)");
  for (const char *mask : {"", "causal ", "causal sliding 2 "})
    checkGradient("%q: tensor<4x3x2x3xf32>, %k: tensor<4x4x2x3xf32>, %v: tensor<4x4x2x3xf32>, "
                  "%n: tensor<4x4xi32>",
                  std::string("%0, %l = graph.attention %q, %k, %v documents %n ") + mask +
                      "scale 0.7 : (tensor<4x3x2x3xf32>, tensor<4x4x2x3xf32>, "
                      "tensor<4x4x2x3xf32>, tensor<4x4xi32>) -> "
                      "(tensor<4x3x2x3xf32>, tensor<4x2x3xf32>)",
                  false, /*numDifferentiable=*/3, /*numResults=*/1);
  for (const char *bias : {"2x4x3x3", "1x4x3x3", "2x1x1x3", "1x1x3x1", "1x1x1x1"}) {
    std::string type = "tensor<" + std::string(bias) + "xf32>";
    checkGradient("%q: tensor<2x3x4x3xf32>, %k: tensor<2x3x2x3xf32>, %v: tensor<2x3x2x2xf32>, "
                  "%b: " +
                      type,
                  "%0, %l = graph.attention %q, %k, %v bias %b causal soft_cap 0.5 scale 0.7 : "
                  "(tensor<2x3x4x3xf32>, tensor<2x3x2x3xf32>, tensor<2x3x2x2xf32>, " +
                      type + ") -> (tensor<2x3x4x2xf32>, tensor<2x4x3xf32>)",
                  false, /*numDifferentiable=*/4, /*numResults=*/2);
  }
}

TEST(Gradient, OfLossAndSoftmax) {
  checkGradient("%x: tensor<2x3x5xf32>, %t: tensor<2x3xi32>",
                "%0, %l = graph.cross_entropy %x, %t : (tensor<2x3x5xf32>, tensor<2x3xi32>) -> "
                "(tensor<2x3xf32>, tensor<2x3xf32>)");
  for (const char *ignored : {"0", "1"}) // targets are both
    checkGradient("%x: tensor<2x3x5xf32>, %t: tensor<2x3xi32>",
                  std::string("%0, %l = graph.cross_entropy %x, %t ignoring ") + ignored +
                      " : (tensor<2x3x5xf32>, tensor<2x3xi32>) -> (tensor<2x3xf32>, "
                      "tensor<2x3xf32>)");
  checkGradient("%x: tensor<2x5xf32>", "%0 = graph.softmax %x : tensor<2x5xf32>");
}

TEST(Gradient, OfBinaryOpsWithBroadcasting) {
  for (const char *name : {"add", "subtract", "multiply", "divide", "minimum", "maximum"})
    for (const char *other : {"2x3x4", "4", "3x1", "1x1x4"}) {
      std::string type = "tensor<" + std::string(other) + "xf32>";
      for (bool swapped : {false, true}) {
        std::string types = swapped ? type + ", tensor<2x3x4xf32>" : "tensor<2x3x4xf32>, " + type;
        checkGradient("%x: tensor<2x3x4xf32>, %y: " + type,
                      "%0 = graph." + std::string(name) + (swapped ? " %y, %x" : " %x, %y") +
                          " : (" + types + ") -> tensor<2x3x4xf32>");
      }
    }
}

TEST(Gradient, OfUnaryOps) {
  for (const char *op : {"negate", "exp", "tanh", "relu", "silu", "gelu erf", "gelu tanh"})
    checkGradient("%x: tensor<8xf32>", "%0 = graph." + std::string(op) + " %x : tensor<8xf32>");
  for (const char *op : {"log", "sqrt"})
    checkGradient("%x: tensor<8xf32>", "%0 = graph." + std::string(op) + " %x : tensor<8xf32>",
                  /*positive=*/true);
  checkGradient("%x: tensor<8xf32>", "%0 = graph.scale %x by -2.5 : tensor<8xf32>");
}

TEST(Gradient, OfPointFunctions) {
  for (const char *op : {"sigmoid",
                         "log_sigmoid",
                         "softplus [1.0, 20.0]",
                         "softplus [2.0, 0.5]",
                         "softsign",
                         "mish",
                         "elu [0.7, 1.3, 1.6]",
                         "leaky_relu [0.1]",
                         "hardtanh [-0.6, 0.7]",
                         "hardsigmoid",
                         "hardswish",
                         "hardshrink [0.5]",
                         "softshrink [0.5]",
                         "threshold [0.4, 0.1]",
                         "clamp [-0.6, 0.7]",
                         "clamp [0xFFF0000000000000, 0.7]",
                         "sin",
                         "cos",
                         "tan",
                         "erf",
                         "expm1",
                         "reciprocal",
                         "pow [3.0]",
                         "pow [-2.0]",
                         "pow [17.0]",
                         "pow [18.0]",
                         "abs"})
    checkGradient("%x: tensor<8xf32>",
                  "%0 = graph.point " + std::string(op) + " %x : tensor<8xf32>");
  for (const char *op : {"log1p", "rsqrt", "pow [0.5]", "pow [-0.5]", "pow [1.25]", "pow [-2.75]"})
    checkGradient("%x: tensor<8xf32>",
                  "%0 = graph.point " + std::string(op) + " %x : tensor<8xf32>",
                  /*positive=*/true);
}

// Returns the type of these shapes broadcast together, out of those of the test below.
std::string resultOf(const std::set<std::string> &shapes) {
  if (shapes.count("2x3x4"))
    return "tensor<2x3x4xf32>";
  std::string rows = shapes.count("3x1") ? "3x4" : "4";
  return "tensor<" + (shapes.count("1x1x4") ? "1x" + (rows == "4" ? "1x4" : rows) : rows) + "xf32>";
}

TEST(Gradient, OfChoicesWithBroadcasting) {
  for (const char *mask : {"2x3x4", "3x1", "1"})
    for (const char *lhs : {"2x3x4", "4"})
      for (const char *rhs : {"2x3x4", "3x1", "1x1x4"}) {
        std::string types[] = {"tensor<" + std::string(mask) + "xi32>",
                               "tensor<" + std::string(lhs) + "xf32>",
                               "tensor<" + std::string(rhs) + "xf32>"};
        checkGradient("%m: " + types[0] + ", %x: " + types[1] + ", %y: " + types[2],
                      "%0 = graph.where %m, %x, %y : (" + types[0] + ", " + types[1] + ", " +
                          types[2] + ") -> " + resultOf({mask, lhs, rhs}));
      }
}

TEST(Gradient, OfReductions) {
  checkGradient(
      "%x: tensor<2x3x4xf32>",
      "%0 = graph.reduce sum %x dims [0, 2] scale 0.5 : tensor<2x3x4xf32> -> tensor<3xf32>");
  checkGradient("%x: tensor<2x3x4xf32>",
                "%0 = graph.reduce mean %x dims [0, 1, 2] : tensor<2x3x4xf32> -> tensor<f32>");
  checkGradient("%x: tensor<2x3x4xf32>",
                "%0 = graph.reduce max %x dims [1] : tensor<2x3x4xf32> -> tensor<2x4xf32>");
}

TEST(Gradient, OfCumulativeSums) {
  for (const char *dim : {"0", "1", "2", "2 reverse"})
    checkGradient("%x: tensor<2x3x4xf32>",
                  "%0 = graph.cumsum %x dim " + std::string(dim) + " : tensor<2x3x4xf32>");
}

TEST(Gradient, OfOpsAtIndices) {
  // Indices of an operand are 0, 1 and 2, of which 2 is outside.
  for (const char *index : {"2x7x4xi32", "7xi32"}) {
    std::string i = std::string("tensor<") + index + ">";
    checkGradient("%x: tensor<2x2x4xf32>, %i: " + i,
                  "%0 = graph.gather %x, %i dim 1 : (tensor<2x2x4xf32>, " + i +
                      ") -> tensor<2x7x4xf32>");
    checkGradient("%u: tensor<2x7x4xf32>, %i: " + i,
                  "%0 = graph.scatter_add %u, %i dim 1 : (tensor<2x7x4xf32>, " + i +
                      ") -> tensor<2x2x4xf32>");
  }
  for (const char *which : {"dim 1", "dim 1 smallest"})
    checkGradient("%x: tensor<2x5x3xf32>", std::string("%0, %1 = graph.top_k %x ") + which +
                                               " : tensor<2x5x3xf32> -> (tensor<2x2x3xf32>, "
                                               "tensor<2x2x3xf32>)");
}

TEST(Gradient, OfOpsThatMoveElements) {
  checkGradient("%x: tensor<3xf32>",
                "%0 = graph.broadcast %x dims [0, 2] : tensor<3xf32> -> tensor<2x3x4xf32>");
  checkGradient("%x: tensor<3x1xf32>",
                "%0 = graph.broadcast %x dims [1] : tensor<3x1xf32> -> tensor<3x4xf32>");
  checkGradient("%x: tensor<2x6xf32>",
                "%0 = graph.reshape %x : tensor<2x6xf32> -> tensor<4x3xf32>");
  checkGradient("%x: tensor<2x3x4xf32>",
                "%0 = graph.transpose %x by [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>");
  checkGradient(
      "%x: tensor<2x3x4xf32>",
      "%0 = graph.slice %x dim 1 start 2 size 1 squeeze : tensor<2x3x4xf32> -> tensor<2x4xf32>");
  checkGradient("%x: tensor<2x5xf32>",
                "%0 = graph.slice %x dim 1 start 1 size 3 : tensor<2x5xf32> -> tensor<2x3xf32>");
  checkGradient("%x: tensor<2x5xf32>",
                "%0 = graph.pad %x dim 0 low 1 high 2 : tensor<2x5xf32> -> tensor<5x5xf32>");
  checkGradient("%x: tensor<2x1xf32>, %y: tensor<2x3xf32>, %z: tensor<2x1xf32>",
                "%0 = graph.concat %x, %y, %z dim 1 : (tensor<2x1xf32>, tensor<2x3xf32>, "
                "tensor<2x1xf32>) -> tensor<2x5xf32>");
  checkGradient("%x: tensor<2x3xf32>, %y: tensor<2x3xf32>",
                "%0 = graph.concat %x, %y dim 1 stack : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
                "tensor<2x2x3xf32>");
}

TEST(Gradient, OfDropoutUsesTheSameMask) {
  checkGradient("%x: tensor<4x8xf32>, %s: tensor<i64>, %t: tensor<f32>",
                "%0 = graph.dropout %x p 0.5 id 3 key(%s, %t) : tensor<4x8xf32>", false,
                /*numDifferentiable=*/1);
}

// Returns the number of ops that the gradient of `op` with respect to the marked operands adds.
unsigned numBuilt(Operation *op, Value dy, ArrayRef<bool> needed) {
  SmallVector<Value> grads, resultGrads(op->getNumResults());
  resultGrads[0] = dy;
  Operation *next = op->getNextNode();
  OpBuilder builder(next);
  EXPECT_TRUE(
      succeeded(cast<GradientOpInterface>(op).buildGradient(builder, resultGrads, needed, grads)));
  unsigned count = 0;
  for (Operation *built = op->getNextNode(); built != next; built = built->getNextNode())
    ++count;
  return count;
}

TEST(Gradient, LeavesOutWhatIsConstantBetweenJumps) {
  for (const char *text :
       {"graph.point floor %x : tensor<4xf32>", "graph.point sign %x : tensor<4xf32>",
        "graph.compare lt %x, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"}) {
    Parsed parsed;
    Operation *op =
        parsed.parse("%x: tensor<4xf32>, %d: tensor<4xf32>", "%0 = " + std::string(text));
    SmallVector<bool> needed(op->getNumOperands(), true);
    EXPECT_EQ(numBuilt(op, parsed.block->getArgument(1), needed), 0u) << text;
  }
}

TEST(Gradient, BuildsOnlyWhatIsNeeded) {
  Parsed parsed;
  Operation *op = parsed.parse(
      "%x: tensor<2x4xf32>, %w: tensor<4x3xf32>, %d: tensor<2x3xf32>",
      "%0 = graph.linear %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>");
  Value dy = parsed.block->getArgument(2);
  EXPECT_EQ(numBuilt(op, dy, {false, false}), 0u);
  EXPECT_EQ(numBuilt(op, dy, {true, false}), 1u);
  EXPECT_EQ(numBuilt(op, dy, {false, true}), 1u);
}

// Returns the message of the only diagnostic that building the gradient emits.
std::string refusal(const std::string &arguments, const std::string &text, unsigned result,
                    ArrayRef<bool> needed) {
  Parsed parsed;
  Operation *op = parsed.parse(arguments, text);
  EXPECT_NE(op, nullptr);
  std::string message;
  ScopedDiagnosticHandler handler(&parsed.context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  SmallVector<Value> grads, resultGrads(op->getNumResults());
  resultGrads[result] = parsed.block->addArgument(op->getResult(result).getType(), op->getLoc());
  OpBuilder builder(op->getNextNode());
  EXPECT_TRUE(
      failed(cast<GradientOpInterface>(op).buildGradient(builder, resultGrads, needed, grads)));
  return message;
}

TEST(Gradient, RefusesWithADiagnostic) {
  EXPECT_EQ(refusal("%x: tensor<2x5xf32>, %t: tensor<2xi32>",
                    "%0, %l = graph.cross_entropy %x, %t : (tensor<2x5xf32>, tensor<2xi32>) -> "
                    "(tensor<2xf32>, tensor<2xf32>)",
                    1, {true, false}),
            "'graph.cross_entropy' op has no gradient through 'lse', which is kept for the "
            "backward pass only");
  EXPECT_EQ(refusal("%x: tensor<?x5xf32>",
                    "%0 = graph.reduce mean %x dims [0, 1] : tensor<?x5xf32> -> tensor<f32>", 0,
                    {true}),
            "'graph.reduce' op is a mean over dim 0, which is dynamic, so its gradient has no "
            "known scale; bind the "
            "batch first (dtc-bind-batch)");
  EXPECT_EQ(refusal("%x: tensor<1x3x2x4xf32>, %c: tensor<3x2xf32>",
                    "%0 = graph.rotary %x, %c, %c : (tensor<1x3x2x4xf32>, tensor<3x2xf32>, "
                    "tensor<3x2xf32>) -> "
                    "tensor<1x3x2x4xf32>",
                    0, {true, true, false}),
            "'graph.rotary' op has no gradient with respect to 'cos'");
  EXPECT_EQ(refusal("%x: tensor<4xi32>", "%0 = graph.cast %x : tensor<4xi32> to tensor<4xf32>", 0,
                    {true}),
            "'graph.cast' op has no gradient from 'i32'");
}

} // namespace
