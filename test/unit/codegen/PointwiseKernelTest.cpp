#include "CompiledKernel.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace dtc::test;

namespace {

using Point = std::function<double(const std::vector<double> &)>;
constexpr int64_t sizes[] = {1, 5, 16, 31, 33, 1000};

std::string tensor(const std::string &shape, const std::string &type = "f32") {
  return "tensor<" + (shape.empty() ? "" : shape + "x") + type + ">";
}

// Compares one op of `arity` operands of one shape with `wanted`, point by point, at all sizes.
void checkOp(const std::string &text, int arity, const Point &wanted, double relative = 4e-7,
             bool positive = false) {
  for (int64_t size : sizes) {
    SCOPED_TRACE(text + " of " + std::to_string(size));
    std::string type = tensor(std::to_string(size)), arguments, names, types;
    std::vector<std::vector<double>> operands;
    for (int i = 0; i < arity; ++i) {
      std::string name = std::string("%") + static_cast<char>('a' + i), separator = i ? ", " : "";
      arguments += separator + name + ": " + type;
      names += separator + name;
      types += separator + type;
      operands.push_back(randomValues(size, 7 + i));
      if (positive)
        for (double &value : operands.back())
          value = std::abs(value) + 1e-3;
    }
    std::string call = arity == 1 ? names + " : " + type : names + " : (" + types + ") -> " + type;
    std::string op = text;
    size_t hole = op.find("$");
    op.replace(hole, 1, text.find("_grad") == std::string::npos ? call : names + " : " + type);
    CompiledKernel kernel("(" + arguments + ") -> " + type, "%0 = " + op, "%0");
    std::vector<double> expected;
    for (int64_t i = 0; i < size; ++i) {
      std::vector<double> point;
      for (const auto &operand : operands)
        point.push_back(operand[i]);
      expected.push_back(wanted(point));
    }
    expectNear(kernel.run(operands)[0], expected, relative, 2e-7);
  }
}

double geluTanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double geluErf(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double slope(double (*f)(double), double x) { return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5; }
double silu(double x) { return x / (1 + std::exp(-x)); }

} // namespace

TEST(PointwiseKernel, ComputesArithmetic) {
  checkOp("graph.add $", 2, [](auto &x) { return x[0] + x[1]; });
  checkOp("graph.subtract $", 2, [](auto &x) { return x[0] - x[1]; });
  checkOp("graph.multiply $", 2, [](auto &x) { return x[0] * x[1]; });
  checkOp("graph.divide $", 2, [](auto &x) { return x[0] / x[1]; });
  checkOp("graph.minimum $", 2, [](auto &x) { return std::min(x[0], x[1]); });
  checkOp("graph.maximum $", 2, [](auto &x) { return std::max(x[0], x[1]); });
  checkOp("graph.negate $", 1, [](auto &x) { return -x[0]; });
  checkOp("graph.relu $", 1, [](auto &x) { return std::max(x[0], 0.0); });
  checkOp("graph.relu_grad $", 2, [](auto &x) { return x[0] > 0 ? x[1] : 0.0; });
}

TEST(PointwiseKernel, ComputesFunctions) {
  checkOp("graph.exp $", 1, [](auto &x) { return std::exp(x[0]); });
  checkOp(
      "graph.log $", 1, [](auto &x) { return std::log(x[0]); }, 4e-7, /*positive=*/true);
  checkOp(
      "graph.sqrt $", 1, [](auto &x) { return std::sqrt(x[0]); }, 4e-7, /*positive=*/true);
  checkOp(
      "graph.tanh $", 1, [](auto &x) { return std::tanh(x[0]); }, 6e-7);
  checkOp(
      "graph.silu $", 1, [](auto &x) { return silu(x[0]); }, 6e-7);
  checkOp(
      "graph.gelu tanh $", 1, [](auto &x) { return geluTanh(x[0]); }, 1e-6);
  checkOp(
      "graph.gelu erf $", 1, [](auto &x) { return geluErf(x[0]); }, 1e-6);
}

TEST(PointwiseKernel, ComputesGradientsOfFunctions) {
  // The wanted slopes are finite differences, which are exact to about 1e-9. 1 - tanh^2 cancels a
  // digit.
  checkOp(
      "graph.gelu_grad tanh $", 2, [](auto &x) { return slope(geluTanh, x[0]) * x[1]; }, 5e-6);
  checkOp(
      "graph.gelu_grad erf $", 2, [](auto &x) { return slope(geluErf, x[0]) * x[1]; }, 5e-6);
  checkOp(
      "graph.silu_grad $", 2, [](auto &x) { return slope(silu, x[0]) * x[1]; }, 5e-6);
}

TEST(PointwiseKernel, StaysExactForLargeArguments) {
  std::vector<double> x = {-100, -50, -20, -5, -1e-3, 0, 1e-3, 5, 20, 50, 88, 100, 1e4};
  std::string type = tensor(std::to_string(x.size()));
  CompiledKernel exp("(%x: " + type + ") -> " + type, "%0 = graph.exp %x : " + type, "%0");
  std::vector<double> found = exp.run({x})[0];
  for (size_t i = 0; i < x.size(); ++i) {
    float wanted = std::exp(static_cast<float>(x[i]));
    if (std::isinf(wanted) || wanted < 1e-37)
      EXPECT_NEAR(std::min(found[i], 1e38), std::min<double>(wanted, 1e38), 1e-37);
    else
      EXPECT_NEAR(found[i], wanted, wanted * 4e-7);
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  x = {-infinity, infinity, std::nan(""), 88.72, 88.73, -87.3, -104.5, 0, 1, -1, 2, -2, 3};
  found = exp.run({x})[0];
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(found[1], infinity);
  EXPECT_TRUE(std::isnan(found[2]));
  EXPECT_NEAR(found[3], std::exp(88.72F), std::exp(88.72) * 4e-7);
  EXPECT_EQ(found[4], infinity);
  EXPECT_NEAR(found[5], std::exp(-87.3F), std::exp(-87.3) * 4e-7);
  EXPECT_NEAR(found[6], 0, 1e-37);
  EXPECT_EQ(found[7], 1);
  x = {-100, -50, -20, -5, -1e-3, 0, 1e-3, 5, 20, 50, 88, 100, 1e4};
  CompiledKernel tanh("(%x: " + type + ") -> " + type, "%0 = graph.tanh %x : " + type, "%0");
  found = tanh.run({x})[0];
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(found[i], std::tanh(x[i]), 4e-7) << x[i];
  CompiledKernel gelu("(%x: " + type + ") -> " + type, "%0 = graph.gelu tanh %x : " + type, "%0");
  found = gelu.run({x})[0];
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(found[i], geluTanh(x[i]), std::abs(x[i]) * 4e-7) << x[i];
}

TEST(PointwiseKernel, Broadcasts) {
  for (int64_t columns : sizes) {
    SCOPED_TRACE(columns);
    std::string n = std::to_string(columns), whole = tensor("7x" + n);
    auto x = randomValues(7 * columns, 1);
    auto bias = randomValues(columns, 2), column = randomValues(7, 3);
    // The operands are a row, a column, a scalar and a constant.
    CompiledKernel kernel(
        "(%x: " + whole + ", %b: " + tensor(n) + ", %c: " + tensor("7x1") +
            ", %s: tensor<f32>) -> " + whole,
        "%0 = graph.add %x, %b : (" + whole + ", " + tensor(n) + ") -> " + whole +
            "\n%1 = graph.multiply %0, %c : (" + whole + ", " + tensor("7x1") + ") -> " + whole +
            "\n%2 = graph.subtract %1, %s : (" + whole + ", tensor<f32>) -> " + whole +
            "\n%k = graph.constant 0.5 : tensor<f32>" + "\n%3 = graph.multiply %2, %k : (" + whole +
            ", tensor<f32>) -> " + whole,
        "%3");
    std::vector<double> wanted;
    for (int64_t i = 0; i < 7 * columns; ++i)
      wanted.push_back(((x[i] + bias[i % columns]) * column[i / columns] - 0.75) * 0.5);
    expectNear(kernel.run({x, bias, column, {0.75}})[0], wanted, 1e-6);
  }
}

TEST(PointwiseKernel, CutsFewLongRows) {
  auto x = randomValues(3 * 5001, 1), bias = randomValues(5001, 2);
  CompiledKernel kernel(
      "(%x: tensor<3x5001xf32>, %b: tensor<5001xf32>) -> tensor<3x5001xf32>",
      "%0 = graph.add %x, %b : (tensor<3x5001xf32>, tensor<5001xf32>) -> tensor<3x5001xf32>", "%0");
  EXPECT_EQ(kernel.range(), 15);
  std::vector<double> wanted;
  for (int64_t i = 0; i < 3 * 5001; ++i)
    wanted.push_back(x[i] + bias[i % 5001]);
  expectNear(kernel.run({x, bias})[0], wanted, 1e-6);
}

TEST(PointwiseKernel, RepeatsAlongNewDims) {
  auto x = randomValues(5 * 3, 1);
  CompiledKernel kernel(
      "(%x: tensor<5x3xf32>) -> tensor<5x4x3x2xf32>",
      "%0 = graph.broadcast %x dims [1, 3] : tensor<5x3xf32> -> tensor<5x4x3x2xf32>", "%0");
  std::vector<double> wanted;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 3; ++k)
        wanted.insert(wanted.end(), 2, x[i * 3 + k]);
  EXPECT_EQ(kernel.run({x})[0], wanted);
}

TEST(PointwiseKernel, ReturnsWhatOthersRead) {
  CompiledKernel kernel(
      "(%x: tensor<33xf32>) -> (tensor<33xf32>, tensor<33xf32>)",
      "%0 = graph.scale %x by 2.0 : tensor<33xf32>\n%1 = graph.negate %0 : tensor<33xf32>",
      "%0, %1");
  auto x = randomValues(33, 1);
  auto results = kernel.run({x});
  for (int i = 0; i < 33; ++i) {
    EXPECT_EQ(results[0][i], 2 * x[i]);
    EXPECT_EQ(results[1][i], -2 * x[i]);
  }
}

TEST(PointwiseKernel, PassesGradientsOfMaximum) {
  for (int64_t size : sizes) {
    std::string type = tensor(std::to_string(size));
    CompiledKernel kernel("(%x: " + type + ", %y: " + type + ", %d: " + type + ") -> " + type,
                          "%0 = graph.select_equal %x, %y, %d : (" + type + ", " + type + ", " +
                              type + ") -> " + type,
                          "%0");
    auto x = randomValues(size, 1), y = x, d = randomValues(size, 2);
    std::vector<double> wanted = d;
    for (int64_t i = 0; i < size; i += 2) {
      y[i] += 1;
      wanted[i] = 0;
    }
    EXPECT_EQ(kernel.run({x, y, d})[0], wanted);
  }
}

TEST(PointwiseKernel, RoundsNarrowTypes) {
  for (const char *element : {"bf16", "f16"}) {
    for (int64_t size : sizes) {
      SCOPED_TRACE(std::string(element) + " of " + std::to_string(size));
      std::string n = std::to_string(size), narrow = tensor(n, element), wide = tensor(n);
      auto x = randomValues(size, 1);
      CompiledKernel down("(%x: " + wide + ") -> " + narrow,
                          "%0 = graph.cast %x : " + wide + " to " + narrow, "%0");
      auto rounded = down.run({x})[0];
      Buffer reference{std::vector<char>(size * 2), elementOf(element)};
      for (int64_t i = 0; i < size; ++i) {
        reference.set(i, x[i]);
        EXPECT_EQ(rounded[i], reference.get(i));
      }
      CompiledKernel add("(%x: " + narrow + ", %y: " + narrow + ") -> " + narrow,
                         "%0 = graph.add %x, %y : (" + narrow + ", " + narrow + ") -> " + narrow,
                         "%0");
      auto sum = add.run({rounded, rounded})[0];
      for (int64_t i = 0; i < size; ++i)
        EXPECT_EQ(sum[i], 2 * rounded[i]);
    }
  }
}

TEST(PointwiseKernel, MultipliesByANarrowNumber) {
  for (const char *element : {"bf16", "f16"})
    for (int64_t size : sizes) {
      SCOPED_TRACE(std::string(element) + " of " + std::to_string(size));
      std::string n = std::to_string(size), all = tensor(n, element), one = tensor({}, element);
      CompiledKernel kernel("(%x: " + all + ", %s: " + one + ") -> " + all,
                            "%b = graph.broadcast %s dims [0] : " + one + " -> " + all +
                                "\n%0 = graph.multiply %x, %b : (" + all + ", " + all + ") -> " +
                                all,
                            "%0");
      std::vector<double> x(size), wanted(size);
      for (int64_t i = 0; i < size; ++i) {
        x[i] = static_cast<double>(i % 64); // exact in both types, as are the products
        wanted[i] = 1.5 * x[i];
      }
      // Operands are in the order in which the kernel reads them.
      EXPECT_EQ(kernel.run({{1.5}, x})[0], wanted);
    }
}

TEST(PointwiseKernel, FillsConstants) {
  CompiledKernel kernel("() -> tensor<3x33xf32>", "%0 = graph.constant 1.5 : tensor<3x33xf32>",
                        "%0");
  EXPECT_EQ(kernel.run({})[0], std::vector<double>(99, 1.5));
}

TEST(PointwiseKernel, UpdatesByAdamW) {
  for (int64_t size : sizes) {
    SCOPED_TRACE(size);
    std::string type = tensor(std::to_string(size)), scalar = "tensor<f32>";
    CompiledKernel kernel("(%p: " + type + ", %g: " + type + ", %m: " + type + ", %v: " + type +
                              ", %lr: " + scalar + ", %t: " + scalar + ", %s: " + scalar +
                              ", %a: " + scalar + ") -> (" + type + ", " + type + ", " + type + ")",
                          "%0, %1, %2 = graph.adamw %p, %g, %m, %v lr %lr step %t grad_scale %s "
                          "apply %a {beta1 = 0.9 : f64, beta2 "
                          "= 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : " +
                              type,
                          "%0, %1, %2");
    auto p = randomValues(size, 1), g = randomValues(size, 2), m = randomValues(size, 3),
         v = randomValues(size, 4);
    for (double &value : v)
      value = static_cast<float>(value * value);
    double lr = 0.01, step = 3, scale = 0.5;
    auto results = kernel.run({p, g, m, v, {lr}, {step}, {scale}, {1}});
    std::vector<double> wantedP, wantedM, wantedV;
    for (int64_t i = 0; i < size; ++i) {
      double grad = g[i] * scale, mean = 0.9 * m[i] + 0.1 * grad,
             square = 0.999 * v[i] + 0.001 * grad * grad;
      double change = mean / (1 - std::pow(0.9, step)) /
                      (std::sqrt(square / (1 - std::pow(0.999, step))) + 1e-8);
      wantedP.push_back(p[i] - lr * (change + 0.1 * p[i]));
      wantedM.push_back(mean);
      wantedV.push_back(square);
    }
    expectNear(results[0], wantedP, 1e-6);
    expectNear(results[1], wantedM, 1e-6);
    expectNear(results[2], wantedV, 1e-6);
    for (double &value : g)
      value = std::numeric_limits<double>::quiet_NaN();
    auto skipped = kernel.run({p, g, m, v, {lr}, {0}, {scale}, {0}});
    EXPECT_EQ(skipped[0], p);
    EXPECT_EQ(skipped[1], m);
    EXPECT_EQ(skipped[2], v);
  }
}

TEST(PointwiseKernel, UpdatesBySgd) {
  for (int64_t size : sizes) {
    std::string type = tensor(std::to_string(size)), scalar = "tensor<f32>";
    CompiledKernel kernel(
        "(%p: " + type + ", %g: " + type + ", %b: " + type + ", %lr: " + scalar +
            ", %s: " + scalar + ", %a: " + scalar + ") -> (" + type + ", " + type + ")",
        "%0, %1 = graph.sgd %p, %g, %b lr %lr grad_scale %s apply %a {momentum = 0.9 : f64, "
        "weight_decay = 0.1 : f64} : " +
            type,
        "%0, %1");
    auto p = randomValues(size, 1), g = randomValues(size, 2), b = randomValues(size, 3);
    auto results = kernel.run({p, g, b, {0.01}, {0.5}, {1}});
    std::vector<double> wantedP, wantedB;
    for (int64_t i = 0; i < size; ++i) {
      wantedB.push_back(0.9 * b[i] + 0.5 * g[i]);
      wantedP.push_back(p[i] - 0.01 * (wantedB[i] + 0.1 * p[i]));
    }
    expectNear(results[0], wantedP, 1e-6);
    expectNear(results[1], wantedB, 1e-6);
  }
}

TEST(PointwiseKernel, ComputesScalarsOfTheUpdate) {
  CompiledKernel clip("(%n: tensor<f32>) -> tensor<f32>", "%0 = graph.clip_scale %n max 1.0", "%0");
  EXPECT_NEAR(clip.run({{4}})[0][0], 0.25, 1e-6);
  EXPECT_EQ(clip.run({{0.5}})[0][0], 1);
  CompiledKernel rate("(%t: tensor<f32>, %b: tensor<f32>, %n: tensor<f32>) -> tensor<f32>",
                      "%0 = graph.learning_rate cosine(%t, %b, %n) warmup 10 min_ratio 0.1", "%0");
  EXPECT_NEAR(rate.run({{5}, {0.02}, {100}})[0][0], 0.01, 1e-8);
  EXPECT_NEAR(rate.run({{55}, {0.02}, {100}})[0][0], 0.02 * (0.1 + 0.9 / 2), 1e-8);
  EXPECT_NEAR(rate.run({{100}, {0.02}, {100}})[0][0], 0.002, 1e-8);
}

TEST(PointwiseKernel, MakesRotaryTables) {
  // The positions are 5..9 of rank 1, up to angles for which a short polynomial would be wrong.
  CompiledKernel kernel(
      "() -> (tensor<5x3xf32>, tensor<5x3xf32>)",
      "%0, %1 = graph.rotary_table [1.0, 0.1, 1000.0] {windows = [#graph.window<loop = "
      "0, local = 5, global = 10, axes = [0]>]} : tensor<5x3xf32>, tensor<5x3xf32>",
      "%0, %1");
  auto results = kernel.run({}, {5});
  double frequencies[] = {1, 0.1f, 1000};
  for (int position = 0; position < 5; ++position)
    for (int i = 0; i < 3; ++i) {
      double angle = static_cast<float>((position + 5) * static_cast<float>(frequencies[i]));
      EXPECT_NEAR(results[0][position * 3 + i], std::cos(angle), 2e-7);
      EXPECT_NEAR(results[1][position * 3 + i], std::sin(angle), 2e-7);
    }
}

// The second of two ranks has positions 2 and 3, then 4 and 5, in two pieces. The first has 0, 1,
// 6, 7.
TEST(PointwiseKernel, KnowsThePositionsOfTwoPieces) {
  CompiledKernel kernel("() -> (tensor<4x1xf32>, tensor<4x1xf32>)",
                        "%0, %1 = graph.rotary_table [1.0] {windows = [#graph.window<loop = 0, "
                        "local = 4, global = 8, axes = [0] zigzag 0>]} : tensor<4x1xf32>, "
                        "tensor<4x1xf32>",
                        "%0, %1");
  auto expectPositions = [&](const std::vector<int64_t> &starts,
                             const std::vector<double> &positions) {
    auto results = kernel.run({}, {starts[0], starts[1]});
    for (size_t i = 0; i < positions.size(); ++i)
      EXPECT_NEAR(results[1][i], std::sin(positions[i]), 2e-7) << i;
  };
  expectPositions({0, 6}, {0, 1, 6, 7});
  expectPositions({2, 4}, {2, 3, 4, 5});
}

namespace {

// Returns the first word of Philox4x32-10 (Salmon et al. 2011).
uint32_t philox(uint64_t key, std::array<uint32_t, 4> c) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    uint64_t a = uint64_t(0xD2511F53u) * c[0], b = uint64_t(0xCD9E8D57u) * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
  }
  return c[0];
}

} // namespace

// The same element is dropped wherever it is: two pieces of 2 columns out of 8.
TEST(PointwiseKernel, DropsByGlobalElementOfTwoPieces) {
  auto dropout = [](const std::string &type, const std::string &windows) {
    return CompiledKernel("(%x: " + type + ", %seed: tensor<i64>, %step: tensor<f32>) -> " + type,
                          "%0 = graph.dropout %x p 0.5 id 9 key(%seed, %step) {global_shape = "
                          "array<i64: 4, 8>" +
                              windows + "} : " + type,
                          "%0");
  };
  std::vector<double> all(32, 1), part(16, 1);
  CompiledKernel whole = dropout(tensor("4x8"), "");
  std::vector<double> wanted = whole.run({all, {77}, {3}}, {0, 9})[0];
  CompiledKernel kernel =
      dropout(tensor("4x4"),
              ", windows = [#graph.window<loop = 1, local = 4, global = 8, axes = [0] zigzag 0>]");
  for (int64_t rank = 0; rank < 2; ++rank) {
    int64_t starts[] = {2 * rank, 6 - 2 * rank};
    std::vector<double> found = kernel.run({part, {77}, {3}}, {starts[0], starts[1], 0, 9})[0];
    for (int64_t i = 0; i < 16; ++i)
      EXPECT_EQ(found[i], wanted[i / 4 * 8 + starts[i % 4 / 2] + i % 2]) << rank << " " << i;
  }
}

TEST(PointwiseKernel, DropsByGlobalElement) {
  EXPECT_EQ(philox(0, {0, 0, 0, 0}), 0x6627e8d5u);
  constexpr uint64_t seed = 0x1234567890;
  for (int64_t columns : sizes) {
    SCOPED_TRACE(columns);
    std::string n = std::to_string(columns), type = tensor("4x" + n);
    std::string whole = std::to_string(3 * columns);
    // Rank 2 of 3 along the columns: global column = 2 * columns + local.
    CompiledKernel kernel("(%x: " + type + ", %seed: tensor<i64>, %step: tensor<f32>) -> " + type,
                          "%0 = graph.dropout %x p 0.25 id 5 key(%seed, %step) {"
                          "global_shape = array<i64: 4, " +
                              whole +
                              ">, windows = [#graph.window<loop = 1, "
                              "local = " +
                              n + ", global = " + whole + ", axes = [0]>]} : " + type,
                          "%0");
    auto x = randomValues(4 * columns, 1);
    auto found = kernel.run({x, {static_cast<double>(seed)}, {7}}, {2 * columns, 8, 9})[0];
    for (int64_t row = 0; row < 4; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        uint64_t element = (row + 8) * 3 * columns + 2 * columns + column;
        uint32_t word = philox(
            seed, {static_cast<uint32_t>(element), static_cast<uint32_t>(element >> 32), 9, 7});
        bool keeps = word >= 0.25 * 4294967296.0;
        double value = x[row * columns + column];
        ASSERT_NEAR(found[row * columns + column], keeps ? value / 0.75 : 0, 1e-6)
            << "row " << row << ", column " << column;
      }
  }
}
