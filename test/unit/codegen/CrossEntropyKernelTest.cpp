#include "CompiledKernel.h"

#include <cmath>
#include <functional>

using namespace dtc::test;
using Values = std::vector<double>;

namespace {

constexpr int64_t sizes[] = {1, 5, 16, 31, 33, 1000};

std::string logitsType(int64_t rows, int64_t words) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(words) + "xf32>";
}
std::string rowType(int64_t rows, const std::string &type = "f32") {
  return "tensor<" + std::to_string(rows) + "x" + type + ">";
}
std::string window(int64_t local, int64_t global) {
  return "{windows = [#graph.window<loop = 1, local = " + std::to_string(local) +
         ", global = " + std::to_string(global) + ", axes = [0]>]}";
}

// Returns targets in [0, words), except for one before and one after them.
Values makeTargets(int64_t rows, int64_t words) {
  Values targets;
  for (int64_t row = 0; row < rows; ++row)
    targets.push_back(row * 7 % words);
  return targets;
}

double logSumExp(const Values &x, int64_t begin, int64_t words) {
  double max = *std::max_element(x.begin() + begin, x.begin() + begin + words), sum = 0;
  for (int64_t word = 0; word < words; ++word)
    sum += std::exp(x[begin + word] - max);
  return max + std::log(sum);
}

void forShapes(const std::function<void(int64_t rows, int64_t words)> &check) {
  for (int64_t size : sizes) {
    for (auto [rows, words] : {std::pair<int64_t, int64_t>{6, size}, {size, 31}}) {
      SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(words) + " words");
      check(rows, words);
    }
  }
}

} // namespace

TEST(CrossEntropyKernel, ComputesTheLossOfEachRow) {
  forShapes([](int64_t rows, int64_t words) {
    std::string x = logitsType(rows, words), t = rowType(rows, "i32"), r = rowType(rows);
    CompiledKernel kernel("(%x: " + x + ", %t: " + t + ") -> (" + r + ", " + r + ")",
                          "%0, %1 = graph.cross_entropy %x, %t : (" + x + ", " + t + ") -> (" + r +
                              ", " + r + ")",
                          "%0, %1");
    Values xs = randomValues(rows * words, 1), ts = makeTargets(rows, words), loss, lse;
    for (double &value : xs)
      value = static_cast<float>(60 * value + 100); // exp of it overflows f32
    for (int64_t row = 0; row < rows; ++row) {
      lse.push_back(logSumExp(xs, row * words, words));
      loss.push_back(lse.back() - xs[row * words + static_cast<int64_t>(ts[row])]);
    }
    auto results = kernel.run({xs, ts});
    expectNear(results[0], loss, 1e-6, 4e-5); // the difference of two numbers of up to 220
    expectNear(results[1], lse, 1e-6);
  });
}

TEST(CrossEntropyKernel, ComputesTheGradient) {
  forShapes([](int64_t rows, int64_t words) {
    std::string x = logitsType(rows, words), t = rowType(rows, "i64"), r = rowType(rows);
    CompiledKernel kernel("(%x: " + x + ", %t: " + t + ", %l: " + r + ", %d: " + r + ") -> " + x,
                          "%0 = graph.cross_entropy_grad %x, %t, %l, %d : (" + x + ", " + t + ", " +
                              r + ", " + r + ") -> " + x,
                          "%0");
    Values xs = randomValues(rows * words, 1), ts = makeTargets(rows, words), lse,
           ds = randomValues(rows, 2), wanted;
    for (int64_t row = 0; row < rows; ++row) {
      lse.push_back(static_cast<float>(logSumExp(xs, row * words, words)));
      for (int64_t word = 0; word < words; ++word)
        wanted.push_back((std::exp(xs[row * words + word] - lse[row]) - (word == ts[row])) *
                         ds[row]);
    }
    expectNear(kernel.run({xs, ts, lse, ds})[0], wanted, 2e-6, 4e-7);
  });
}

// The ignored targets are below all words, above them, and one of them.
TEST(CrossEntropyKernel, LeavesOutRowsWhoseTargetIsIgnored) {
  const int64_t rows = 6, words = 5;
  std::string x = logitsType(rows, words), t = rowType(rows, "i32"), r = rowType(rows);
  for (int64_t ignored : {-100, 3, 70}) {
    std::string ignoring = " ignoring " + std::to_string(ignored) + " : (";
    CompiledKernel loss("(%x: " + x + ", %t: " + t + ") -> (" + r + ", " + r + ")",
                        "%0, %1 = graph.cross_entropy %x, %t" + ignoring + x + ", " + t + ") -> (" +
                            r + ", " + r + ")",
                        "%0, %1");
    CompiledKernel grad("(%x: " + x + ", %t: " + t + ", %l: " + r + ", %d: " + r + ") -> " + x,
                        "%0 = graph.cross_entropy_grad %x, %t, %l, %d" + ignoring + x + ", " + t +
                            ", " + r + ", " + r + ") -> " + x,
                        "%0");
    CompiledKernel counted(
        "(%t: " + t + ") -> " + r,
        "%0 = graph.counted %t ignoring " + std::to_string(ignored) + " : " + t + " to " + r, "%0");
    Values xs = randomValues(rows * words, 1), ds(rows, 1), lse;
    auto i = static_cast<double>(ignored);
    Values ts{0, i, 4, i, i, 1}, counts{1, 0, 1, 0, 0, 1}, losses, wanted;
    for (int64_t row = 0; row < rows; ++row) {
      lse.push_back(static_cast<float>(logSumExp(xs, row * words, words)));
      auto target = static_cast<int64_t>(ts[row]);
      losses.push_back(counts[row] == 0 ? 0 : lse[row] - xs[row * words + target]);
      for (int64_t word = 0; word < words; ++word)
        wanted.push_back((std::exp(xs[row * words + word] - lse[row]) - (word == target)) *
                         counts[row]);
    }
    expectNear(loss.run({xs, ts})[0], losses, 1e-6, 4e-7);
    expectNear(grad.run({xs, ts, lse, ds})[0], wanted, 2e-6, 4e-7);
    expectNear(counted.run({ts})[0], counts, 0);
  }
}

// The words of a rank start at `offset`. Those from `global` on are padding, and some targets
// belong to other ranks.
TEST(CrossEntropyKernel, SplitsWordsOverRanks) {
  for (int64_t words : sizes) {
    int64_t global = 3 * words - words / 3;
    for (int64_t rank : {0, 1, 2}) {
      SCOPED_TRACE("rank " + std::to_string(rank) + " of " + std::to_string(words) + " words");
      int64_t rows = 9, offset = rank * words, valid = std::min(words, global - offset);
      std::string x = logitsType(rows, words), t = rowType(rows, "i32"), r = rowType(rows);
      Values xs = randomValues(rows * words, 1), maxima = randomValues(rows, 2),
             ds = randomValues(rows, 3), ts;
      for (int64_t row = 0; row < rows; ++row)
        ts.push_back(row == 8 ? -1 : (row * 2 + 1) * global / 18);
      auto local = [&](int64_t row) {
        int64_t word = static_cast<int64_t>(ts[row]) - offset;
        return word >= 0 && word < valid ? word : -1;
      };
      // The content of the padding must not matter.
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t word = valid; word < words; ++word)
          xs[row * words + word] = 1e30;
      Values sums, picked, gradient;
      for (int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (int64_t word = 0; word < words; ++word) {
          double p = word < valid ? std::exp(xs[row * words + word] - maxima[row]) : 0;
          sum += p;
          gradient.push_back((p - (word == local(row))) * ds[row]);
        }
        sums.push_back(sum);
        picked.push_back(local(row) < 0 ? 0 : xs[row * words + local(row)]);
      }
      CompiledKernel sumExp("(%x: " + x + ", %m: " + r + ") -> " + r,
                            "%0 = graph.sum_exp %x, %m " + window(words, global) + " : (" + x +
                                ", " + r + ") -> " + r,
                            "%0");
      expectNear(sumExp.run({xs, maxima}, {offset})[0], sums, 2e-6);
      CompiledKernel pick("(%x: " + x + ", %t: " + t + ") -> " + r,
                          "%0 = graph.pick %x, %t " + window(words, global) + " : (" + x + ", " +
                              t + ") -> " + r,
                          "%0");
      EXPECT_EQ(pick.run({xs, ts}, {offset})[0], picked);
      CompiledKernel grad("(%x: " + x + ", %t: " + t + ", %l: " + r + ", %d: " + r + ") -> " + x,
                          "%0 = graph.cross_entropy_grad %x, %t, %l, %d " + window(words, global) +
                              " : (" + x + ", " + t + ", " + r + ", " + r + ") -> " + x,
                          "%0");
      expectNear(grad.run({xs, ts, maxima, ds}, {offset})[0], gradient, 4e-6, 4e-6);
    }
  }
}

// The first of two ranks has words 0 to 3 and 12 of 13, in two pieces of 4, and the second has 4 to
// 11.
TEST(CrossEntropyKernel, FindsWordsInTwoPieces) {
  std::string x = logitsType(2, 8), t = rowType(2, "i32"), r = rowType(2);
  std::string windows =
      "{windows = [#graph.window<loop = 1, local = 8, global = 13, axes = [0] zigzag 0>]}";
  CompiledKernel pick("(%x: " + x + ", %t: " + t + ") -> " + r,
                      "%0 = graph.pick %x, %t " + windows + " : (" + x + ", " + t + ") -> " + r,
                      "%0");
  CompiledKernel sumExp(
      "(%x: " + x + ", %m: " + r + ") -> " + r,
      "%0 = graph.sum_exp %x, %m " + windows + " : (" + x + ", " + r + ") -> " + r, "%0");
  Values xs = randomValues(16, 1), maxima = {0, 0};
  auto sumOf = [&](int64_t row, int64_t words) {
    double sum = 0;
    for (int64_t word = 0; word < words; ++word)
      sum += std::exp(xs[row * 8 + word]);
    return sum;
  };
  EXPECT_EQ(pick.run({xs, {3, 12}}, {0, 12})[0], (Values{xs[3], xs[8 + 4]}));
  EXPECT_EQ(pick.run({xs, {4, 11}}, {0, 12})[0], (Values{0, 0}));
  EXPECT_EQ(pick.run({xs, {13, 14}}, {0, 12})[0], (Values{0, 0}));
  EXPECT_EQ(pick.run({xs, {4, 11}}, {4, 8})[0], (Values{xs[0], xs[8 + 7]}));
  EXPECT_EQ(pick.run({xs, {3, 12}}, {4, 8})[0], (Values{0, 0}));
  expectNear(sumExp.run({xs, maxima}, {0, 12})[0], {sumOf(0, 5), sumOf(1, 5)}, 2e-6);
  expectNear(sumExp.run({xs, maxima}, {4, 8})[0], {sumOf(0, 8), sumOf(1, 8)}, 2e-6);
}

TEST(CrossEntropyKernel, PicksNothingForTargetsOutside) {
  std::string x = logitsType(3, 5), t = rowType(3, "i32");
  CompiledKernel kernel("(%x: " + x + ", %t: " + t + ") -> " + rowType(3),
                        "%0 = graph.pick %x, %t : (" + x + ", " + t + ") -> " + rowType(3), "%0");
  Values xs = randomValues(15, 1);
  EXPECT_EQ(kernel.run({xs, {-1, 4, 5}})[0], (Values{0, xs[9], 0}));
}
