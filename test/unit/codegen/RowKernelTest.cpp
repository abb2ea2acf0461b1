#include "CompiledKernel.h"

#include <cmath>
#include <functional>

using namespace dtc::test;
using Values = std::vector<double>;

namespace {

constexpr int64_t sizes[] = {1, 5, 16, 31, 33, 1000};

std::string tensor(std::vector<int64_t> shape, const std::string &type = "f32") {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + type + ">";
}

// Runs `check` with all pairs of rows and columns that matter: short and long rows, few and many.
void forShapes(const std::function<void(int64_t rows, int64_t columns)> &check) {
  for (int64_t size : sizes) {
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{7, size}, {size, 33}}) {
      SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(columns));
      check(rows, columns);
    }
  }
}

struct RowStatistics {
  Values mean, rstd;
};
RowStatistics statistics(const Values &x, int64_t rows, int64_t columns, bool centred,
                         double epsilon = 1e-5) {
  RowStatistics result;
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < columns; ++i)
      sum += x[row * columns + i];
    double mean = centred ? sum / columns : 0;
    for (int64_t i = 0; i < columns; ++i)
      squares += std::pow(x[row * columns + i] - mean, 2);
    result.mean.push_back(mean);
    result.rstd.push_back(1 / std::sqrt(squares / columns + epsilon));
  }
  return result;
}

} // namespace

TEST(RowKernel, NormalisesLayers) {
  forShapes([](int64_t rows, int64_t columns) {
    std::string x = tensor({rows, columns}), w = tensor({columns}), s = tensor({rows});
    CompiledKernel kernel("(%x: " + x + ", %w: " + w + ", %b: " + w + ") -> (" + x + ", " + s +
                              ", " + s + ")",
                          "%0, %1, %2 = graph.layer_norm %x, %w, %b : (" + x + ", " + w + ", " + w +
                              ") -> (" + x + ", " + s + ", " + s + ")",
                          "%0, %1, %2");
    Values xs = randomValues(rows * columns, 1), ws = randomValues(columns, 2),
           bs = randomValues(columns, 3);
    auto results = kernel.run({xs, ws, bs});
    RowStatistics wanted = statistics(xs, rows, columns, true);
    Values y;
    for (int64_t i = 0; i < rows * columns; ++i)
      y.push_back((xs[i] - wanted.mean[i / columns]) * wanted.rstd[i / columns] * ws[i % columns] +
                  bs[i % columns]);
    // A row of one element has deviation 0, so the rounding of the mean is multiplied by 1 /
    // sqrt(epsilon).
    expectNear(results[0], y, 4e-6, 2e-6);
    expectNear(results[1], wanted.mean, 1e-6);
    expectNear(results[2], wanted.rstd, 2e-6);
  });
}

TEST(RowKernel, NormalisesLayersOfNarrowTypes) {
  std::string x = tensor({7, 33}, "bf16"), w = tensor({33}, "bf16"), s = tensor({7});
  CompiledKernel kernel("(%x: " + x + ", %w: " + w + ", %b: " + w + ") -> (" + x + ", " + s + ", " +
                            s + ")",
                        "%0, %1, %2 = graph.layer_norm %x, %w, %b : (" + x + ", " + w + ", " + w +
                            ") -> (" + x + ", " + s + ", " + s + ")",
                        "%0, %1, %2");
  Buffer rounding{std::vector<char>(2), Element::BF16};
  auto round = [&](Values values) {
    for (double &value : values) {
      rounding.set(0, value);
      value = rounding.get(0);
    }
    return values;
  };
  Values xs = round(randomValues(7 * 33, 1)), ws = round(randomValues(33, 2)),
         bs = round(randomValues(33, 3));
  auto results = kernel.run({xs, ws, bs});
  RowStatistics wanted = statistics(xs, 7, 33, true);
  Values y;
  for (int64_t i = 0; i < 7 * 33; ++i)
    y.push_back((xs[i] - wanted.mean[i / 33]) * wanted.rstd[i / 33] * ws[i % 33] + bs[i % 33]);
  expectNear(results[0], y, 0x1p-8, 1e-5); // half a unit in the last place of bf16
  expectNear(results[1], wanted.mean, 1e-6);
}

TEST(RowKernel, NormalisesByRootMeanSquare) {
  forShapes([](int64_t rows, int64_t columns) {
    std::string x = tensor({rows, columns}), w = tensor({columns}), s = tensor({rows});
    CompiledKernel kernel("(%x: " + x + ", %w: " + w + ") -> (" + x + ", " + s + ")",
                          "%0, %1 = graph.rms_norm %x, %w : (" + x + ", " + w + ") -> (" + x +
                              ", " + s + ")",
                          "%0, %1");
    Values xs = randomValues(rows * columns, 1), ws = randomValues(columns, 2);
    auto results = kernel.run({xs, ws});
    RowStatistics wanted = statistics(xs, rows, columns, false);
    Values y;
    for (int64_t i = 0; i < rows * columns; ++i)
      y.push_back(xs[i] * wanted.rstd[i / columns] * ws[i % columns]);
    expectNear(results[0], y, 1e-6);
    expectNear(results[1], wanted.rstd, 1e-6);
  });
}

// One epsilon is far below the squares, and one is larger. Rows are small, so that both have an
// effect.
TEST(RowKernel, NormalisesWithAnyEpsilon) {
  std::string x = tensor({7, 33}), w = tensor({33}), s = tensor({7});
  Values xs = randomValues(7 * 33, 1), ws = randomValues(33, 2), bs = randomValues(33, 3);
  for (double &value : xs)
    value = static_cast<float>(value * 1e-3);
  for (double epsilon : {1e-6, 1e-12, 0.5}) {
    char text[32];
    std::snprintf(text, sizeof text, " epsilon %.1e : (", epsilon);
    SCOPED_TRACE(text);
    CompiledKernel layer("(%x: " + x + ", %w: " + w + ", %b: " + w + ") -> (" + x + ", " + s +
                             ", " + s + ")",
                         "%0, %1, %2 = graph.layer_norm %x, %w, %b" + std::string(text) + x + ", " +
                             w + ", " + w + ") -> (" + x + ", " + s + ", " + s + ")",
                         "%0, %1, %2");
    CompiledKernel rms("(%x: " + x + ", %w: " + w + ") -> (" + x + ", " + s + ")",
                       "%0, %1 = graph.rms_norm %x, %w" + std::string(text) + x + ", " + w +
                           ") -> (" + x + ", " + s + ")",
                       "%0, %1");
    expectNear(layer.run({xs, ws, bs})[2], statistics(xs, 7, 33, true, epsilon).rstd, 2e-6, 0);
    expectNear(rms.run({xs, ws})[1], statistics(xs, 7, 33, false, epsilon).rstd, 2e-6, 0);
  }
}

TEST(RowKernel, ComputesGradientsOfNorms) {
  forShapes([](int64_t rows, int64_t columns) {
    std::string x = tensor({rows, columns}), w = tensor({columns}), s = tensor({rows});
    Values xs = randomValues(rows * columns, 1), ws = randomValues(columns, 2),
           dys = randomValues(rows * columns, 3);
    CompiledKernel layer("(%x: " + x + ", %w: " + w + ", %m: " + s + ", %r: " + s + ", %dy: " + x +
                             ") -> " + x,
                         "%0 = graph.layer_norm_grad %x, %w, %m, %r, %dy : (" + x + ", " + w +
                             ", " + s + ", " + s + ", " + x + ") -> " + x,
                         "%0");
    CompiledKernel rms("(%x: " + x + ", %w: " + w + ", %r: " + s + ", %dy: " + x + ") -> " + x,
                       "%0 = graph.rms_norm_grad %x, %w, %r, %dy : (" + x + ", " + w + ", " + s +
                           ", " + x + ") -> " + x,
                       "%0");
    for (bool centred : {true, false}) {
      RowStatistics row = statistics(xs, rows, columns, centred);
      for (Values *values : {&row.mean, &row.rstd})
        for (double &value : *values)
          value = static_cast<float>(value);
      Values wanted, found = centred ? layer.run({xs, ws, row.mean, row.rstd, dys})[0]
                                     : rms.run({xs, ws, row.rstd, dys})[0];
      double largest = 0;
      for (int64_t r = 0; r < rows; ++r) {
        double sum = 0, product = 0;
        auto normal = [&](int64_t i) { return (xs[i] - row.mean[r]) * row.rstd[r]; };
        for (int64_t c = 0, i = r * columns; c < columns; ++c, ++i) {
          sum += centred ? dys[i] * ws[c] : 0;
          product += dys[i] * ws[c] * normal(i);
        }
        for (int64_t c = 0, i = r * columns; c < columns; ++c, ++i) {
          wanted.push_back(row.rstd[r] *
                           (dys[i] * ws[c] - sum / columns - normal(i) * product / columns));
          largest = std::max(largest, std::abs(row.rstd[r] * dys[i] * ws[c]));
        }
      }
      expectNear(found, wanted, 1e-6, 2e-6 * std::max(1.0, largest)); // the terms may cancel
    }
  });
}

TEST(RowKernel, ComputesGradientsOfNormParameters) {
  forShapes([](int64_t rows, int64_t columns) {
    std::string x = tensor({rows, columns}), w = tensor({columns}), s = tensor({rows});
    Values xs = randomValues(rows * columns, 1), means = randomValues(rows, 2),
           rstds = randomValues(rows, 3), dys = randomValues(rows * columns, 4);
    CompiledKernel layer("(%x: " + x + ", %m: " + s + ", %r: " + s + ", %dy: " + x + ") -> (" + w +
                             ", " + w + ")",
                         "%0, %1 = graph.layer_norm_param_grad %x, %m, %r, %dy : (" + x + ", " + s +
                             ", " + s + ", " + x + ") -> (" + w + ", " + w + ")",
                         "%0, %1");
    CompiledKernel rms("(%x: " + x + ", %r: " + s + ", %dy: " + x + ") -> " + w,
                       "%0 = graph.rms_norm_param_grad %x, %r, %dy : (" + x + ", " + s + ", " + x +
                           ") -> " + w,
                       "%0");
    Values dweight(columns), dbias(columns), rmsWeight(columns);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0, i = r * columns; c < columns; ++c, ++i) {
        dweight[c] += dys[i] * (xs[i] - means[r]) * rstds[r];
        rmsWeight[c] += dys[i] * xs[i] * rstds[r];
        dbias[c] += dys[i];
      }
    auto results = layer.run({xs, means, rstds, dys});
    double absolute = 1e-6 * std::sqrt(rows) + 2e-6;
    expectNear(results[0], dweight, 2e-6, 4 * absolute);
    expectNear(results[1], dbias, 2e-6, absolute);
    expectNear(rms.run({xs, rstds, dys})[0], rmsWeight, 2e-6, 4 * absolute);
  });
}

// The sums over parts of the rows, some of which may be empty, add up to the whole.
TEST(RowKernel, ComputesParamGradientsOfNormsInParts) {
  forShapes([](int64_t rows, int64_t columns) {
    int64_t parts = std::min<int64_t>(rows, 4), ofPart = (rows + parts - 1) / parts;
    std::string x = tensor({rows, columns}), s = tensor({rows}), p = tensor({parts, columns});
    Values xs = randomValues(rows * columns, 1), dys = randomValues(rows * columns, 2),
           means = randomValues(rows, 3), rstds = randomValues(rows, 4);
    CompiledKernel layer("(%x: " + x + ", %r: " + s + ", %dy: " + x + ", %m: " + s + ") -> (" + p +
                             ", " + p + ")",
                         "%0, %1 = graph.norm_param_grad_parts %x, %r, %dy mean %m : (" + x + ", " +
                             s + ", " + x + ", " + s + ") -> (" + p + ", " + p + ")",
                         "%0, %1");
    CompiledKernel rms("(%x: " + x + ", %r: " + s + ", %dy: " + x + ") -> " + p,
                       "%0 = graph.norm_param_grad_parts %x, %r, %dy : (" + x + ", " + s + ", " +
                           x + ") -> " + p,
                       "%0");
    Values dweight(parts * columns), dbias(parts * columns), rmsWeight(parts * columns);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0, i = r * columns; c < columns; ++c, ++i) {
        int64_t at = r / ofPart * columns + c;
        dweight[at] += dys[i] * (xs[i] - means[r]) * rstds[r];
        rmsWeight[at] += dys[i] * xs[i] * rstds[r];
        dbias[at] += dys[i];
      }
    auto results = layer.run({xs, rstds, dys, means});
    double absolute = 1e-6 * std::sqrt(rows) + 2e-6;
    expectNear(results[0], dweight, 2e-6, 4 * absolute);
    expectNear(results[1], dbias, 2e-6, absolute);
    expectNear(rms.run({xs, rstds, dys})[0], rmsWeight, 2e-6, 4 * absolute);
  });
}

TEST(RowKernel, ComputesSoftmax) {
  forShapes([](int64_t rows, int64_t columns) {
    std::string x = tensor({rows, columns});
    CompiledKernel kernel("(%x: " + x + ") -> " + x, "%0 = graph.softmax %x : " + x, "%0");
    CompiledKernel narrow("(%x: " + tensor({rows, columns}, "bf16") + ") -> " +
                              tensor({rows, columns}, "bf16"),
                          "%0 = graph.softmax %x : " + tensor({rows, columns}, "bf16"), "%0");
    Values xs = randomValues(rows * columns, 1), wanted;
    for (double &value : xs)
      value = std::round(30 * value + 80); // exact in bf16; exp alone overflows
    for (int64_t r = 0; r < rows; ++r) {
      double max = *std::max_element(&xs[r * columns], &xs[r * columns] + columns), sum = 0;
      for (int64_t c = 0; c < columns; ++c)
        sum += std::exp(xs[r * columns + c] - max);
      for (int64_t c = 0; c < columns; ++c)
        wanted.push_back(std::exp(xs[r * columns + c] - max) / sum);
    }
    expectNear(kernel.run({xs})[0], wanted, 2e-6, 1e-10);
    Buffer rounding{std::vector<char>(2), Element::BF16};
    bool exact = std::all_of(xs.begin(), xs.end(), [&](double value) {
      rounding.set(0, value);
      return rounding.get(0) == value;
    });
    ASSERT_TRUE(exact);
    expectNear(narrow.run({xs})[0], wanted, 0x1p-8 + 1e-6, 1e-10);
  });
}

TEST(RowKernel, ComputesTheGradientOfSoftmax) {
  forShapes([](int64_t rows, int64_t columns) {
    std::string x = tensor({rows, columns});
    CompiledKernel kernel("(%y: " + x + ", %dy: " + x + ") -> " + x,
                          "%0 = graph.softmax_grad %y, %dy : " + x, "%0");
    Values y = randomValues(rows * columns, 1), dy = randomValues(rows * columns, 2), wanted;
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < columns; ++c)
        sum += y[r * columns + c] * dy[r * columns + c];
      for (int64_t c = 0; c < columns; ++c)
        wanted.push_back((dy[r * columns + c] - sum) * y[r * columns + c]);
    }
    expectNear(kernel.run({y, dy})[0], wanted, 2e-6, 2e-5);
  });
}

TEST(RowKernel, RotatesPairsOfHeadDims) {
  for (int64_t half : {1, 5, 16, 31, 33, 64}) {
    SCOPED_TRACE(half);
    std::string x = tensor({3, 5, 2, 2 * half}), table = tensor({5, half});
    for (bool inverse : {false, true}) {
      CompiledKernel kernel("(%x: " + x + ", %c: " + table + ", %s: " + table + ") -> " + x,
                            std::string("%0 = graph.rotary %x, %c, %s ") +
                                (inverse ? "inverse" : "") + " : (" + x + ", " + table + ", " +
                                table + ") -> " + x,
                            "%0");
      Values xs = randomValues(3 * 5 * 2 * 2 * half, 1), cs = randomValues(5 * half, 2),
             ss = randomValues(5 * half, 3);
      Values wanted(xs.size());
      for (int64_t row = 0; row < 3 * 5; ++row)
        for (int64_t head = 0; head < 2; ++head)
          for (int64_t i = 0; i < half; ++i) {
            int64_t low = (row * 2 + head) * 2 * half + i, high = low + half;
            double c = cs[row % 5 * half + i], s = ss[row % 5 * half + i] * (inverse ? -1 : 1);
            wanted[low] = xs[low] * c - xs[high] * s;
            wanted[high] = xs[high] * c + xs[low] * s;
          }
      expectNear(kernel.run({xs, cs, ss})[0], wanted, 1e-6);
    }
  }
}
