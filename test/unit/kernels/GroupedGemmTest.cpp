// Products of groups of rows beside sums in double, and beside a dense product of each group. All
// that no product may read is not a number: rows behind the last group, and the matrices of groups
// without rows.
#include "kernels/cpu/GroupedGemm.h"
#include "kernels/cpu/Gemm.h"
#include "test/unit/kernels/KernelsTestSupport.h"
#include "test/unit/kernels/NarrowTestSupport.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dtc::cpu {
namespace {

using namespace test;
using Counts = std::vector<int32_t>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Types {
  ElementType type, result;
};
constexpr Types kTypes[] = {{ElementType::F32, ElementType::F32},
                            {ElementType::BF16, ElementType::BF16},
                            {ElementType::BF16, ElementType::F32},
                            {ElementType::F16, ElementType::F16},
                            {ElementType::F16, ElementType::F32}};

// A tensor of a type in memory, and its numbers.
struct Tensor {
  ElementType type;
  std::vector<float> values;
  std::vector<uint16_t> bits; // of 16-bit types

  Tensor(ElementType type, std::vector<float> numbers) : type(type), values(std::move(numbers)) {
    if (type == ElementType::F32)
      return;
    bits = narrowed(type, values);
    values = widened(type, bits);
  }
  void *data() {
    return type == ElementType::F32 ? static_cast<void *>(values.data()) : bits.data();
  }
  std::vector<float> read() const {
    return type == ElementType::F32 ? values : widened(type, bits);
  }
};

enum class Form { Rows, Transposed, Sums };
constexpr Form kForms[] = {Form::Rows, Form::Transposed, Form::Sums};

struct Problem {
  GroupedGemmArgs args;
  Counts counts;
  Tensor a, b, before;
  std::vector<int64_t> groupOf; // of each row that a group has

  // `counts` are [samples, groups]; there are `more` rows behind the last group.
  Problem(Types types, Form form, Counts given, int64_t samples, int64_t more, int64_t k, int64_t n)
      : counts(std::move(given)), a(types.type, {}), b(types.type, {}), before(types.result, {}) {
    args.type = types.type, args.resultType = types.result;
    args.samples = samples, args.groups = static_cast<int64_t>(counts.size()) / samples;
    args.k = k, args.n = n;
    args.transB = form == Form::Transposed, args.sumsRows = form == Form::Sums;
    for (int64_t group = 0; group < args.groups; ++group)
      for (int64_t sample = 0; sample < samples; ++sample)
        groupOf.insert(groupOf.end(), static_cast<size_t>(counts[sample * args.groups + group]),
                       group);
    args.rows = static_cast<int64_t>(groupOf.size()) + more;
    auto left = randomFloats(args.rows * k, 1);
    std::fill(left.begin() + groupOf.size() * k, left.end(), kNan);
    std::vector<float> right = randomFloats(args.sumsRows ? args.rows * n : args.groups * k * n, 2);
    if (args.sumsRows)
      std::fill(right.begin() + groupOf.size() * n, right.end(), kNan);
    for (int64_t group = 0; group < args.groups && !args.sumsRows; ++group)
      if (std::find(groupOf.begin(), groupOf.end(), group) == groupOf.end())
        std::fill_n(right.begin() + group * k * n, k * n, kNan);
    a = Tensor(types.type, left), b = Tensor(types.type, right);
    before =
        Tensor(types.result, randomFloats(args.sumsRows ? args.groups * k * n : args.rows * n, 3));
  }

  std::vector<float> run(ThreadPool &pool) {
    Tensor c = before;
    if (!args.accumulate) // what is there does not matter
      c = Tensor(before.type, std::vector<float>(before.values.size(), kNan));
    args.a = a.data(), args.b = b.data(), args.c = c.data(), args.counts = counts.data();
    groupedGemm(args, pool);
    return c.read();
  }

  double right(int64_t group, int64_t term, int64_t column) const {
    int64_t matrix = group * args.k * args.n;
    return b.values[matrix + (args.transB ? column * args.k + term : term * args.n + column)];
  }

  // Sums and the sums of magnitudes, which bound what a rounding loses.
  void reference(std::vector<double> &sums, std::vector<double> &sizes) const {
    sums.assign(before.values.size(), 0), sizes = sums;
    auto add = [&](int64_t to, double product) {
      sums[to] += product, sizes[to] += std::abs(product);
    };
    if (args.accumulate)
      for (size_t i = 0; i < sums.size(); ++i)
        add(static_cast<int64_t>(i), before.values[i]);
    for (int64_t row = 0; row < static_cast<int64_t>(groupOf.size()); ++row)
      for (int64_t term = 0; term < args.k; ++term)
        for (int64_t column = 0; column < args.n; ++column) {
          double x = a.values[row * args.k + term];
          if (args.sumsRows)
            add((groupOf[row] * args.k + term) * args.n + column,
                x * b.values[row * args.n + column]);
          else
            add(row * args.n + column, x * right(groupOf[row], term, column));
        }
  }

  void check(ThreadPool &pool, const std::string &what) {
    std::vector<double> sums, sizes;
    reference(sums, sizes);
    std::vector<float> found = run(pool);
    double terms = static_cast<double>(args.sumsRows ? args.rows : args.k) + 2;
    double unit = args.resultType == ElementType::F32    ? 0
                  : args.resultType == ElementType::BF16 ? 0x1p-8
                                                         : 0x1p-11;
    for (size_t i = 0; i < found.size(); ++i) {
      double bound = terms * 0x1p-24 * sizes[i];
      ASSERT_LE(std::abs(found[i] - sums[i]),
                bound + unit * (std::abs(sums[i]) + bound) + (unit == 0 ? 0 : 0x1p-25))
          << what << ": element " << i << ", found " << found[i] << ", wanted " << sums[i];
    }
  }
};

std::string nameOf(Types types, Form form) {
  return std::string(dtc::nameOf(types.type)) + " to " + dtc::nameOf(types.result) + " form " +
         std::to_string(static_cast<int>(form));
}

TEST(GroupedGemm, MultipliesTheRowsOfEachGroup) {
  ThreadPool pool(2);
  for (Types types : kTypes)
    for (Form form : kForms)
      for (int64_t k : {1, 33, 64})
        for (int64_t n : {1, 40, 97}) {
          // Groups of 0, 1, 7, 300 and 20 rows, of two samples.
          Problem problem(types, form, {0, 1, 3, 299, 0, 0, 0, 4, 1, 20}, 2, 5, k, n);
          problem.check(pool, nameOf(types, form));
        }
}

TEST(GroupedGemm, MultipliesManyRows) {
  ThreadPool pool(3);
  for (Types types : kTypes)
    for (Form form : kForms) {
      Problem problem(types, form, {7, 10000, 0, 1}, 1, 0, 72, 48);
      problem.check(pool, nameOf(types, form));
    }
}

TEST(GroupedGemm, AddsToWhatIsThere) {
  ThreadPool pool(2);
  for (ElementType type : {ElementType::F32, ElementType::BF16, ElementType::F16}) {
    Problem problem({type, ElementType::F32}, Form::Sums, {3, 0, 500}, 1, 2, 33, 50);
    problem.args.accumulate = true;
    problem.check(pool, dtc::nameOf(type));
  }
}

TEST(GroupedGemm, GivesZerosWithoutRows) {
  ThreadPool pool(2);
  for (Types types : kTypes)
    for (Form form : kForms) {
      Problem problem(types, form, {0, 0, 0}, 1, 4, 16, 24);
      std::vector<float> found = problem.run(pool);
      EXPECT_EQ(found, std::vector<float>(found.size(), 0)) << nameOf(types, form);
    }
}

// Each group is the dense product of its rows, to the bit, whatever the threads and the groups
// beside it.
TEST(GroupedGemm, HasTheBitsOfDenseProducts) {
  constexpr int64_t k = 200, n = 150;
  ThreadPool one(1);
  for (Form form : kForms) {
    Problem problem({ElementType::F32, ElementType::F32}, form, {1, 64, 0, 700, 7, 33, 65}, 1, 3, k,
                    n);
    std::vector<float> wanted(problem.before.values.size());
    int64_t first = 0;
    for (int64_t group = 0; group < problem.args.groups; ++group) {
      int64_t rows = problem.counts[static_cast<size_t>(group)], matrix = group * k * n;
      bool sums = form == Form::Sums;
      GemmArgs dense{.a = problem.a.values.data() + first * k,
                     .b = problem.b.values.data() + (sums ? first * n : matrix),
                     .c = wanted.data() + (sums ? matrix : first * n),
                     .m = sums ? k : rows,
                     .n = n,
                     .k = sums ? rows : k,
                     .lda = k,
                     .ldb = form == Form::Transposed ? k : n,
                     .ldc = n,
                     .transA = sums,
                     .transB = form == Form::Transposed};
      gemm(dense, one);
      first += rows;
    }
    for (int threads : {1, 2, 5}) {
      ThreadPool pool(threads);
      EXPECT_TRUE(sameBits(problem.run(pool), wanted))
          << "form " << static_cast<int>(form) << ", threads " << threads;
    }
  }
}

TEST(GroupedGemm, HasTheSameBitsOnAnyNumberOfThreads) {
  for (Types types : kTypes)
    for (Form form : kForms) {
      Problem problem(types, form, {1, 640, 0, 170, 7, 33, 65, 9}, 1, 3, 136, 152);
      ThreadPool one(1);
      std::vector<float> wanted = problem.run(one);
      for (int threads : {2, 3, 8}) {
        ThreadPool pool(threads);
        EXPECT_TRUE(sameBits(problem.run(pool), wanted)) << nameOf(types, form);
      }
    }
}

// Counts are data: whatever they are, nothing outside of the tensors is touched. One below 0 counts
// as 0, and rows end where the tensors do.
TEST(GroupedGemm, TakesAnyCounts) {
  ThreadPool pool(2);
  Types f32 = {ElementType::F32, ElementType::F32};
  for (Form form : kForms) {
    Problem usual(f32, form, {0, 40, 60, 0}, 1, 0, 16, 24);
    std::vector<float> wanted = usual.run(pool);
    Problem other(f32, form, {0, 40, 60, 0}, 1, 0, 16, 24);
    other.counts = {-5, 40, std::numeric_limits<int32_t>::max(), 7};
    EXPECT_TRUE(sameBits(other.run(pool), wanted)) << "form " << static_cast<int>(form);
  }
}

} // namespace
} // namespace dtc::cpu
