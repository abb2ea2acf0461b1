// Compares the functions of graph.point, comparisons and choices with PyTorch's, at ordinary points
// and at infinities, NaN and the ends of pieces.
#include "CompiledKernel.h"

#include <cmath>
#include <limits>

using namespace dtc::test;

namespace {

struct PointValues {
  const char *function;
  std::vector<double> parameters, values, slopes; // at xs
};

#include "PointValues.inc"

std::string textOf(const std::vector<double> &parameters) {
  if (parameters.empty())
    return "";
  std::string text;
  for (double parameter : parameters) {
    std::string bits = parameter > 0 ? "0x7FF0000000000000" : "0xFFF0000000000000";
    char number[32];
    std::snprintf(number, sizeof(number), "%.17e", parameter);
    text += (text.empty() ? "[" : ", ") + (std::isinf(parameter) ? bits : std::string(number));
  }
  return text + "]";
}

// Compares point by point; NaN and infinities are wanted where the reference has them.
void expectSame(const std::vector<double> &found, const std::vector<double> &wanted, double scale,
                double relative) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    double value = wanted[i] * scale;
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(found[i])) << "f(" << xs[i] << ") is " << found[i];
    else if (std::isinf(value))
      EXPECT_EQ(found[i], value) << "x is " << xs[i];
    else
      EXPECT_NEAR(found[i], value, std::max(relative * std::abs(value), 2e-7)) << "x is " << xs[i];
  }
}

std::string tensor(size_t size, const std::string &type = "f32") {
  return "tensor<" + std::to_string(size) + "x" + type + ">";
}

} // namespace

TEST(PointKernel, ComputesTheValuesAndSlopesOfPyTorch) {
  std::string type = tensor(xs.size());
  std::vector<double> dy(xs.size(), -2);
  for (const PointValues &row : pointValues) {
    std::string function = std::string(row.function) + " " + textOf(row.parameters);
    SCOPED_TRACE(function);
    CompiledKernel kernel("(%x: " + type + ", %d: " + type + ") -> (" + type + ", " + type + ")",
                          "%0 = graph.point " + function + " %x : " + type +
                              "\n%1 = graph.point_grad " + function + " %x, %d : " + type,
                          "%0, %1");
    auto results = kernel.run({xs, dy});
    expectSame(results[0], row.values, 1, 2e-6);
    expectSame(results[1], row.slopes, -2, 5e-6);
  }
}

TEST(PointKernel, Compares) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   infinity = std::numeric_limits<double>::infinity();
  std::vector<double> a = {1, 2, 3, nan, nan, infinity, -infinity, 0, -0.0},
                      b = {2, 2, 2, nan, 1, infinity, infinity, -0.0, -1};
  const std::pair<const char *, std::vector<double>> wanted[] = {
      {"eq", {0, 1, 0, 0, 0, 1, 0, 1, 0}}, {"ne", {1, 0, 1, 1, 1, 0, 1, 0, 1}},
      {"lt", {1, 0, 0, 0, 0, 0, 1, 0, 0}}, {"le", {1, 1, 0, 0, 0, 1, 1, 1, 0}},
      {"gt", {0, 0, 1, 0, 0, 0, 0, 0, 1}}, {"ge", {0, 1, 1, 0, 0, 1, 0, 1, 1}}};
  for (const char *element : {"f32", "bf16"}) {
    std::string type = tensor(a.size(), element);
    for (const auto &[kind, values] : wanted) {
      CompiledKernel kernel("(%a: " + type + ", %b: " + type + ") -> " + type,
                            std::string("%0 = graph.compare ") + kind + " %a, %b : (" + type +
                                ", " + type + ") -> " + type,
                            "%0");
      EXPECT_EQ(kernel.run({a, b})[0], values) << kind << " of " << element;
    }
  }
  std::vector<double> i = {1, 2, 3, -5, -1}, j = {2, 2, 2, 5, -1};
  const std::pair<const char *, std::vector<double>> ofIntegers[] = {
      {"eq", {0, 1, 0, 0, 1}}, {"ne", {1, 0, 1, 1, 0}}, {"lt", {1, 0, 0, 1, 0}},
      {"le", {1, 1, 0, 1, 1}}, {"gt", {0, 0, 1, 0, 0}}, {"ge", {0, 1, 1, 0, 1}}};
  std::string type = tensor(i.size(), "i32"), result = tensor(i.size());
  for (const auto &[kind, values] : ofIntegers) {
    CompiledKernel kernel("(%a: " + type + ", %b: " + type + ") -> " + result,
                          std::string("%0 = graph.compare ") + kind + " %a, %b : (" + type + ", " +
                              type + ") -> " + result,
                          "%0");
    EXPECT_EQ(kernel.run({i, j})[0], values) << kind;
  }
}

// The second of two ranks has 8 to 14, and one element of padding.
TEST(PointKernel, Counts) {
  for (const char *element : {"f32", "i32"}) {
    std::string type = tensor(8, element);
    CompiledKernel whole("() -> " + type, "%0 = graph.iota : " + type, "%0");
    EXPECT_EQ(whole.run({})[0], (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7})) << element;
    CompiledKernel part("() -> " + type,
                        "%0 = graph.iota {windows = [#graph.window<loop = 0, local = 8, "
                        "global = 15, axes = [0]>]} : " +
                            type,
                        "%0");
    EXPECT_EQ(part.run({}, {8})[0], (std::vector<double>{8, 9, 10, 11, 12, 13, 14, 0})) << element;
  }
}

// The side that is not taken may be infinite or NaN.
TEST(PointKernel, TakesOneOfTwo) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   infinity = std::numeric_limits<double>::infinity();
  for (int64_t columns : {1, 5, 33}) {
    std::string n = std::to_string(columns), all = "tensor<4x" + n + "xf32>";
    std::vector<double> lhs = randomValues(4 * columns, 1), wanted;
    for (int64_t c = 0; c < columns; ++c)
      lhs[columns + c] = nan;
    for (int64_t i = 0; i < 4 * columns; ++i)
      wanted.push_back(i / columns % 2 == 0 ? lhs[i] : -infinity);
    for (const char *element : {"f32", "i32", "bf16"}) {
      std::string mask = std::string("tensor<4x1x") + element + ">";
      CompiledKernel kernel("(%m: " + mask + ", %a: " + all + ") -> " + all,
                            "%b = graph.constant 0xFFF0000000000000 : tensor<f32>\n"
                            "%0 = graph.where %m, %a, %b : (" +
                                mask + ", " + all + ", tensor<f32>) -> " + all,
                            "%0");
      EXPECT_EQ(kernel.run({{1, 0, -2, 0}, lhs})[0], wanted) << columns << " " << element;
    }
  }
}
