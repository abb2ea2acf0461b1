#include "CompiledKernel.h"

#include <cmath>
#include <limits>

using namespace dtc::test;
using Values = std::vector<double>;

namespace {

constexpr int64_t sizes[] = {1, 5, 16, 31, 33, 1000};

std::string tensor(const std::vector<int64_t> &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

std::string list(const std::vector<int64_t> &values) {
  std::string text = "[";
  for (int64_t value : values)
    text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "]";
}

bool contains(const std::vector<int64_t> &values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// The start of padding in each dim; no entry means no padding.
struct Valid {
  int64_t dim = -1, count = 0;
};

Values reduce(const std::string &kind, const Values &x, const std::vector<int64_t> &shape,
              const std::vector<int64_t> &dims, const std::vector<Valid> &valid = {}) {
  int64_t results = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    results *= contains(dims, dim) ? 1 : shape[dim];
  Values totals(results, kind == "max" ? -std::numeric_limits<double>::infinity() : 0);
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t rest = i, at = 0, stride = 1;
    bool counts = true;
    for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
      int64_t index = rest % shape[dim];
      rest /= shape[dim];
      for (Valid part : valid)
        counts &= part.dim != dim || index < part.count;
      if (contains(dims, dim))
        continue;
      at += index * stride;
      stride *= shape[dim];
    }
    if (counts)
      totals[at] = kind == "max" ? std::max(totals[at], x[i]) : totals[at] + x[i];
  }
  if (kind == "mean")
    for (double &total : totals)
      total /= static_cast<double>(x.size() / results);
  return totals;
}

void check(const std::string &kind, const std::vector<int64_t> &shape,
           const std::vector<int64_t> &dims) {
  std::vector<int64_t> result;
  int64_t size = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    size *= shape[dim];
    if (!contains(dims, dim))
      result.push_back(shape[dim]);
  }
  std::string text = "graph.reduce " + kind + " %x dims " + list(dims) + " : " + tensor(shape) +
                     " -> " + tensor(result);
  SCOPED_TRACE(text);
  CompiledKernel kernel("(%x: " + tensor(shape) + ") -> " + tensor(result), "%0 = " + text, "%0");
  Values x = randomValues(size, 1);
  expectNear(kernel.run({x})[0], reduce(kind, x, shape, dims), 2e-6, 1e-6 * std::sqrt(size) + 2e-6);
}

} // namespace

TEST(ReduceKernel, ReducesTheLastDim) {
  for (int64_t size : sizes)
    for (const char *kind : {"sum", "max", "mean"}) {
      check(kind, {7, size}, {1});
      check(kind, {size, 33}, {1});
    }
}

TEST(ReduceKernel, ReducesLeadingDims) {
  for (int64_t size : sizes)
    for (const char *kind : {"sum", "max", "mean"}) {
      check(kind, {7, size}, {0});
      check(kind, {size, 33}, {0});
    }
}

TEST(ReduceKernel, ReducesEverything) {
  for (int64_t size : sizes)
    check("mean", {size, 3}, {0, 1});
}

TEST(ReduceKernel, ReducesAnySetOfDims) {
  for (const char *kind : {"sum", "max"})
    for (int set = 1; set < 16; ++set) {
      std::vector<int64_t> dims;
      for (int dim = 0; dim < 4; ++dim)
        if (set >> dim & 1)
          dims.push_back(dim);
      check(kind, {3, 5, 4, 34}, dims);
    }
  check("sum", {1, 1, 1}, {1});
  check("max", {4, 1, 5}, {1});
}

TEST(ReduceKernel, Scales) {
  CompiledKernel kernel(
      "(%x: tensor<4x33xf32>) -> tensor<33xf32>",
      "%0 = graph.reduce sum %x dims [0] scale 0.25 : tensor<4x33xf32> -> tensor<33xf32>", "%0");
  Values x = randomValues(4 * 33, 1), wanted = reduce("mean", x, {4, 33}, {0});
  expectNear(kernel.run({x})[0], wanted, 1e-6);
}

// Padding of a split dim is left out, whatever the position of the dim is.
TEST(ReduceKernel, LeavesPaddingOutOfTheMaximum) {
  std::vector<int64_t> shape = {4, 6, 37};
  for (int64_t dim = 0; dim < 3; ++dim)
    for (const std::vector<int64_t> &dims : {std::vector<int64_t>{dim}, {0, 2}, {0, 1, 2}}) {
      if (!contains(dims, dim))
        continue;
      std::vector<int64_t> result;
      for (int64_t kept = 0; kept < 3; ++kept)
        if (!contains(dims, kept))
          result.push_back(shape[kept]);
      int64_t global = 2 * shape[dim] - 3;
      std::string text = "graph.reduce max %x dims " + list(dims) +
                         " {windows = [#graph.window<loop = " + std::to_string(dim) +
                         ", local = " + std::to_string(shape[dim]) +
                         ", global = " + std::to_string(global) +
                         ", axes = [0]>]} : " + tensor(shape) + " -> " + tensor(result);
      SCOPED_TRACE(text);
      CompiledKernel kernel("(%x: " + tensor(shape) + ") -> " + tensor(result), "%0 = " + text,
                            "%0");
      Values x = randomValues(4 * 6 * 37, 1);
      for (double &value : x)
        value = static_cast<float>(value - 10); // below the zeros that padding may hold
      EXPECT_EQ(kernel.run({x}, {0})[0], reduce("max", x, shape, dims));
      EXPECT_EQ(kernel.run({x}, {shape[dim]})[0],
                reduce("max", x, shape, dims, {{dim, shape[dim] - 3}}));
    }
}

// Two pieces of 4 from the outside in: the first rank has 0 to 3 and 12 of 13 elements, and the
// second 4 to 11.
TEST(ReduceKernel, LeavesPaddingOfTwoPiecesOut) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{3, 8}, {8, 3}}) {
    int64_t dim = shape[0] == 8 ? 0 : 1;
    std::string text = "graph.reduce max %x dims " + list({dim}) +
                       " {windows = [#graph.window<loop = " + std::to_string(dim) +
                       ", local = 8, global = 13, axes = [0] zigzag 0>]} : " + tensor(shape) +
                       " -> tensor<3xf32>";
    SCOPED_TRACE(text);
    CompiledKernel kernel("(%x: " + tensor(shape) + ") -> tensor<3xf32>", "%0 = " + text, "%0");
    Values x = randomValues(24, 1);
    for (double &value : x)
      value = static_cast<float>(value - 10); // below the zeros that padding may hold
    EXPECT_EQ(kernel.run({x}, {0, 12})[0], reduce("max", x, shape, {dim}, {{dim, 5}}));
    EXPECT_EQ(kernel.run({x}, {4, 8})[0], reduce("max", x, shape, {dim}));
  }
}

TEST(ReduceKernel, SumsSquares) {
  for (int64_t size : {1, 5, 16, 31, 33, 1000, 4096, 10001}) {
    CompiledKernel kernel("(%x: " + tensor({size}) + ") -> tensor<f32>",
                          "%0 = graph.sum_squares %x : " + tensor({size}), "%0");
    Values x = randomValues(size, 1);
    double wanted = 0;
    for (double value : x)
      wanted += value * value;
    expectNear(kernel.run({x})[0], {wanted}, 1e-6);
  }
}

// Each chunk has its own runs of 1024, the last chunk of a tensor has the rest, and the entries
// behind all chunks are 0.
TEST(ReduceKernel, SumsSquaresOfChunks) {
  struct Case {
    std::vector<int64_t> sizes, chunks, runs; // runs of a chunk
  };
  for (const Case &test :
       {Case{{40000, 5, 2048}, {3, 1, 1}, {14, 1, 2}}, Case{{5000, 1025}, {9, 2}, {1, 1}},
        Case{{16384}, {1}, {16}},
        Case{{1000, 1000, 1000, 1000, 1000}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}}}) {
    std::string arguments, names, types, chunks;
    std::vector<Values> operands;
    Values wanted;
    for (size_t i = 0; i < test.sizes.size(); ++i) {
      std::string comma = i > 0 ? ", " : "", name = "%x" + std::to_string(i);
      arguments += comma + name + ": " + tensor({test.sizes[i]});
      names += comma + name;
      types += comma + tensor({test.sizes[i]});
      operands.push_back(randomValues(test.sizes[i], static_cast<unsigned>(i)));
      for (int64_t chunk = 0; chunk < test.chunks[i]; ++chunk) {
        double sum = 0;
        int64_t elements = 1024 * test.runs[i];
        for (int64_t at = chunk * elements; at < std::min(test.sizes[i], (chunk + 1) * elements);
             ++at)
          sum += operands.back()[at] * operands.back()[at];
        wanted.push_back(sum);
      }
    }
    while (wanted.size() % 4 != 0)
      wanted.push_back(0);
    std::string result = tensor({static_cast<int64_t>(wanted.size())});
    std::string text = "graph.chunk_squares " + names + " chunks " + list(test.chunks) + " : (" +
                       types + ") -> " + result;
    SCOPED_TRACE(text);
    CompiledKernel kernel("(" + arguments + ") -> " + result, "%0 = " + text, "%0");
    expectNear(kernel.run(operands)[0], wanted, 2e-6);
  }
}

TEST(ReduceKernel, SumsAllChunks) {
  CompiledKernel kernel(
      "(%x: tensor<8xf32>, %y: tensor<1004xf32>, %z: tensor<4xf32>) -> tensor<f32>",
      "%0 = graph.sum_chunks %x, %y, %z : tensor<8xf32>, tensor<1004xf32>, tensor<4xf32>", "%0");
  std::vector<Values> operands = {randomValues(8, 1), randomValues(1004, 2), randomValues(4, 3)};
  double wanted = 0;
  for (const Values &values : operands)
    for (double value : values)
      wanted += value;
  expectNear(kernel.run(operands)[0], {wanted}, 1e-5, 1e-4);
}

// 5 rows in 4 parts are two per part: one part has one row, and one has none.
TEST(ReduceKernel, SumsPartsOfRows) {
  for (auto [rows, columns, parts] :
       {std::array<int64_t, 3>{5, 33, 4}, {64, 130, 3}, {100, 8, 7}, {3, 1000, 1}}) {
    int64_t ofPart = (rows + parts - 1) / parts;
    std::string x = tensor({rows, columns}), result = tensor({parts, columns});
    SCOPED_TRACE(x + " in " + std::to_string(parts));
    CompiledKernel kernel("(%x: " + x + ") -> " + result,
                          "%0 = graph.row_part_sums %x : " + x + " -> " + result, "%0");
    Values values = randomValues(rows * columns, 1), wanted(parts * columns, 0);
    for (int64_t i = 0; i < rows * columns; ++i)
      wanted[i / columns / ofPart * columns + i % columns] += values[i];
    expectNear(kernel.run({values})[0], wanted, 2e-6, 1e-5);
  }
}

TEST(ReduceKernel, SumsPartsUp) {
  std::string parts = tensor({5, 2, 33}), result = tensor({2, 33});
  CompiledKernel kernel("(%p: " + parts + ", %q: " + parts + ") -> (" + result + ", " + result +
                            ")",
                        "%0, %1 = graph.sum_parts %p, %q scale 0.25 : (" + parts + ", " + parts +
                            ") -> (" + result + ", " + result + ")",
                        "%0, %1");
  std::vector<Values> operands = {randomValues(330, 1), randomValues(330, 2)};
  std::vector<Values> found = kernel.run(operands);
  for (size_t i = 0; i < 2; ++i) {
    Values wanted(66, 0);
    for (size_t at = 0; at < 330; ++at)
      wanted[at % 66] += operands[i][at] / 4;
    expectNear(found[i], wanted, 2e-6, 1e-6);
  }
}

// A single f32 total would stop growing at 2^24.
TEST(ReduceKernel, SumsManySmallSquares) {
  constexpr int64_t size = 40000000;
  CompiledKernel kernel("(%x: " + tensor({size}) + ") -> tensor<f32>",
                        "%0 = graph.sum_squares %x : " + tensor({size}), "%0");
  std::vector<float> x(size, 1), result(2);
  kernel.call({reinterpret_cast<char *>(x.data()), reinterpret_cast<char *>(result.data())}, 0, 1);
  EXPECT_NEAR(result[0], 4e7, 4);
}

TEST(CumsumKernel, AddsUpAlongAnyDim) {
  for (int64_t size : sizes)
    for (int64_t dim = 0; dim < 3; ++dim)
      for (bool isReversed : {false, true}) {
        std::vector<int64_t> shape = {3, 2, dim == 2 ? 1 : 35};
        shape[dim] = size;
        int64_t inner = 1;
        for (int64_t after = dim + 1; after < 3; ++after)
          inner *= shape[after];
        std::string type = tensor(shape), text = "graph.cumsum %x dim " + std::to_string(dim) +
                                                 (isReversed ? " reverse : " : " : ") + type;
        SCOPED_TRACE(text);
        CompiledKernel kernel("(%x: " + type + ") -> " + type, "%0 = " + text, "%0");
        Values x = randomValues(shape[0] * shape[1] * shape[2], 1), wanted = x;
        auto next = [&](size_t i, int64_t way) { return wanted[i + way * inner]; };
        for (size_t i = 0; i < x.size(); ++i)
          if (!isReversed && i / inner % size > 0)
            wanted[i] += next(i, -1);
        for (size_t i = x.size(); i-- > 0;)
          if (isReversed && i / inner % size + 1 < static_cast<size_t>(size))
            wanted[i] += next(i, 1);
        // Each addition rounds a sum, which is at most the largest one.
        double largest = 0;
        for (double sum : wanted)
          largest = std::max(largest, std::abs(sum));
        expectNear(kernel.run({x})[0], wanted, 0, static_cast<double>(size) * largest * 0x1p-24);
      }
}
