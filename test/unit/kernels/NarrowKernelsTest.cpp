// Kernels of bf16 and f16 beside those of f32 on the same numbers, at edge sizes.
//
// Bounds follow from the formats: rounding to nearest loses at most u of a number, u = 2^-8 for
// bf16 and 2^-11 for f16 (and at most 2^-25 of what is denormal in f16); a sum of n terms in f32,
// in any order, at most n * 2^-24 of the sum of their magnitudes (Higham 2002, "Accuracy and
// Stability of Numerical Algorithms", section 4.2).
#include "kernels/cpu/Embedding.h"
#include "kernels/cpu/GemmArgs.h"
#include "kernels/cpu/NarrowAttention.h"
#include "kernels/cpu/NarrowGemm.h"
#include "kernels/cpu/OneDnnGemm.h"
#include "test/unit/kernels/AttentionReference.h"
#include "test/unit/kernels/KernelsTestSupport.h"
#include "test/unit/kernels/NarrowTestSupport.h"

#include <bit>
#include <limits>

namespace dtc::cpu {
namespace {

using namespace test;

constexpr ElementType kNarrow[] = {ElementType::BF16, ElementType::F16};
constexpr int64_t kEdges[] = {1, 31, 33, 1000};

double unitOf(ElementType type) { return type == ElementType::BF16 ? 0x1p-8 : 0x1p-11; }

// Returns random numbers that `type` represents exactly.
std::vector<float> exactFloats(ElementType type, int64_t count, uint32_t seed) {
  return widened(type, narrowed(type, randomFloats(count, seed)));
}

TEST(NarrowFloats, RoundToNearestEvenAndBack) {
  const float infinity = std::numeric_limits<float>::infinity();
  const struct {
    ElementType type;
    float from;
    uint16_t bits;
  } cases[] = {
      {ElementType::BF16, 1.0f, 0x3f80},          {ElementType::BF16, 1.00390625f, 0x3f80},
      {ElementType::BF16, 1.01171875f, 0x3f82},   {ElementType::BF16, -3.0e38f, 0xff62},
      {ElementType::BF16, 3.4e38f, 0x7f80},       {ElementType::BF16, -infinity, 0xff80},
      {ElementType::BF16, 0x1p-133f, 0x0001},     {ElementType::F16, 1.0f, 0x3c00},
      {ElementType::F16, 1.00048828125f, 0x3c00}, {ElementType::F16, 65504.0f, 0x7bff},
      {ElementType::F16, 65520.0f, 0x7c00},       {ElementType::F16, 0x1p-24f, 0x0001},
      {ElementType::F16, 0x1p-25f, 0x0000},       {ElementType::F16, -0x1p-14f, 0x8400},
  };
  forEachIsa([&] {
    for (const auto &each : cases)
      for (int64_t count : {1, 7, 8, 16, 33}) { // vectors and remainders
        std::vector<float> from(count, each.from);
        for (uint16_t bits : narrowed(each.type, from))
          EXPECT_EQ(bits, each.bits) << each.from;
      }
    for (ElementType type : kNarrow) {
      std::vector<uint16_t> all(1 << 16);
      for (size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<uint16_t>(i);
      std::vector<float> values = widened(type, all);
      std::vector<uint16_t> again = narrowed(type, values);
      for (size_t i = 0; i < all.size(); ++i)
        if (std::isnan(values[i]))
          EXPECT_TRUE(std::isnan(widened(type, {again[i]})[0])) << i;
        else
          ASSERT_EQ(again[i], all[i]) << i;
    }
  });
}

// Only lower bits, which bf16 does not have, distinguish such a number from infinity.
TEST(NarrowFloats, KeepNaN) {
  const float nan = std::bit_cast<float>(0x7f800001u);
  forEachIsa([&] {
    for (ElementType type : kNarrow)
      for (float from : {nan, -nan})
        for (uint16_t bits : narrowed(type, std::vector<float>(9, from)))
          EXPECT_TRUE(std::isnan(widened(type, {bits})[0])) << std::hex << bits;
  });
}

struct GemmCase {
  int64_t m, n, k;
  bool transA, transB;
  float alpha, beta;
  int64_t batch;
};

// Runs the product both ways, with strides beyond what is needed, and compares it with sums in
// double.
template <typename Multiply>
void checkGemmBy(const Multiply &multiply, ElementType type, ElementType resultType,
                 const GemmCase &c, ThreadPool &pool) {
  const int64_t pad = 3;
  NarrowGemmArgs args{};
  args.type = type, args.resultType = resultType;
  args.m = c.m, args.n = c.n, args.k = c.k;
  args.transA = c.transA, args.transB = c.transB;
  args.alpha = c.alpha, args.beta = c.beta, args.batch = c.batch;
  args.lda = (c.transA ? c.m : c.k) + pad, args.ldb = (c.transB ? c.k : c.n) + pad;
  args.ldc = c.n + pad;
  args.strideA = (c.transA ? c.k : c.m) * args.lda,
  args.strideB = (c.transB ? c.n : c.k) * args.ldb;
  args.strideC = c.m * args.ldc;
  auto a = exactFloats(type, c.batch * args.strideA, 1),
       b = exactFloats(type, c.batch * args.strideB, 2),
       before = exactFloats(type, c.batch * args.strideC, 3);
  auto narrowA = narrowed(type, a), narrowB = narrowed(type, b), narrowC = narrowed(type, before);
  std::vector<float> wideC = before;
  bool isWide = resultType == ElementType::F32;
  args.a = narrowA.data(), args.b = narrowB.data();
  args.c = isWide ? static_cast<void *>(wideC.data()) : narrowC.data();
  multiply(args, pool);
  std::vector<float> found = isWide ? wideC : widened(type, narrowC);
  double unit = isWide ? 0 : unitOf(type);
  for (int64_t i = 0; i < c.batch * c.m * args.ldc; ++i) {
    int64_t batch = i / args.strideC, row = i / args.ldc % c.m, column = i % args.ldc;
    if (column >= c.n) {
      ASSERT_EQ(found[i], before[i]) << "padding of c";
      continue;
    }
    double sum = 0, size = 0;
    for (int64_t p = 0; p < c.k; ++p) {
      double product =
          double(a[batch * args.strideA + (c.transA ? p * args.lda + row : row * args.lda + p)]) *
          b[batch * args.strideB + (c.transB ? column * args.ldb + p : p * args.ldb + column)];
      sum += product, size += std::abs(product);
    }
    double wanted = c.alpha * sum + (c.beta == 0 ? 0 : c.beta * double(before[i]));
    double bound =
        (double(c.k) + 2) * 0x1p-24 * (std::abs(c.alpha) * size + std::abs(c.beta * before[i]));
    ASSERT_LE(std::abs(found[i] - wanted), bound + unit * (std::abs(wanted) + bound) + 0x1p-25)
        << c.m << "x" << c.n << "x" << c.k << " row " << row << " column " << column;
  }
}

void checkGemm(ElementType type, ElementType resultType, const GemmCase &c, ThreadPool &pool) {
  checkGemmBy(narrowGemm, type, resultType, c, pool);
  if (hasLibraryProducts(type))
    checkGemmBy(packedNarrowGemm, type, resultType, c, pool);
}

TEST(NarrowGemm, SumsInF32AtEdgeSizes) {
  ThreadPool pool(2);
  forEachIsa([&] {
    for (ElementType type : kNarrow)
      for (ElementType result : {type, ElementType::F32}) {
        for (int64_t size : kEdges)
          for (int form = 0; form < 4; ++form) {
            checkGemm(type, result, {size, 33, 31, bool(form & 1), bool(form & 2), 1, 0, 1}, pool);
            checkGemm(type, result, {31, size, 33, bool(form & 1), bool(form & 2), 1, 1, 1}, pool);
            checkGemm(type, result, {33, 31, size, bool(form & 1), bool(form & 2), 0.5f, 2, 2},
                      pool);
          }
        checkGemm(type, result, {5, 1700, 520, false, true, 1, 0, 1}, pool);
        checkGemm(type, result, {3, 4, 0, false, false, 1, 2, 1}, pool);
      }
  });
}

// Libraries keep what they make for a product. Products of one shape have one entry per scale and
// step between rows.
TEST(NarrowGemm, TellsProductsOfOneShapeApart) {
  ThreadPool pool(1);
  for (ElementType type : kNarrow)
    for (ElementType result : {type, ElementType::F32}) {
      for (float alpha : {1.0f, 0.5f})
        for (float beta : {0.0f, 1.0f, 2.0f})
          checkGemm(type, result, {48, 56, 64, false, false, alpha, beta, 1}, pool);
      const int64_t rows = 48, columns = 56, depth = 64;
      auto a = narrowed(type, randomFloats(rows * depth, 1)),
           b = narrowed(type, randomFloats(depth * columns, 2));
      std::vector<std::vector<float>> found;
      for (int64_t ldc : {columns, columns + 5}) {
        std::vector<float> wide(rows * ldc);
        std::vector<uint16_t> bits(rows * ldc);
        bool isWide = result == ElementType::F32;
        NarrowGemmArgs args{.a = a.data(),
                            .b = b.data(),
                            .c = isWide ? static_cast<void *>(wide.data()) : bits.data(),
                            .type = type,
                            .resultType = result,
                            .m = rows,
                            .n = columns,
                            .k = depth,
                            .lda = depth,
                            .ldb = columns,
                            .ldc = ldc};
        narrowGemm(args, pool);
        if (!isWide)
          wide = widened(type, bits);
        std::vector<float> &packed = found.emplace_back();
        for (int64_t row = 0; row < rows; ++row)
          packed.insert(packed.end(), wide.begin() + row * ldc, wide.begin() + row * ldc + columns);
      }
      EXPECT_EQ(found[0], found[1]);
    }
}

TEST(NarrowGemm, GivesTheSameBitsForAnyNumberOfThreads) {
  ThreadPool one(1), many(5);
  auto a = narrowed(ElementType::BF16, randomFloats(700 * 600, 1)),
       b = narrowed(ElementType::BF16, randomFloats(600 * 300, 2));
  std::vector<uint16_t> first(700 * 300), second(first);
  NarrowGemmArgs args{
      a.data(), b.data(), first.data(), ElementType::BF16, ElementType::BF16, 700, 300, 600,
      600,      300,      300};
  narrowGemm(args, one);
  args.c = second.data();
  narrowGemm(args, many);
  EXPECT_EQ(first, second);
}

// Processors multiply bf16 by instructions that take subnormal operands as 0. Those of either
// operand, in any row, also of one element among many, and of f16 count here.
TEST(NarrowGemm, MultipliesSubnormalNumbers) {
  ThreadPool pool(3);
  const int64_t size = 48, batch = 3;
  for (ElementType type : kNarrow)
    for (bool isOfA : {true, false})
      for (int64_t position : {int64_t(0), size * size / 2 + 7, batch * size * size - 1}) {
        std::vector<float> small(batch * size * size), large(batch * size * size);
        float tiny = type == ElementType::BF16 ? 0x1.cp-128f : 0x1.8p-20f;
        float big = type == ElementType::BF16 ? 0x1p120f : 0x1p10f;
        small[position] = -tiny;
        std::fill(large.begin(), large.end(), big);
        auto a = narrowed(type, isOfA ? small : large), b = narrowed(type, isOfA ? large : small);
        std::vector<float> found(batch * size * size, -7.0f);
        NarrowGemmArgs args{.a = a.data(),
                            .b = b.data(),
                            .c = found.data(),
                            .type = type,
                            .resultType = ElementType::F32,
                            .m = size,
                            .n = size,
                            .k = size,
                            .lda = size,
                            .ldb = size,
                            .ldc = size,
                            .batch = batch,
                            .strideA = size * size,
                            .strideB = size * size,
                            .strideC = size * size};
        narrowGemm(args, pool);
        for (int64_t i = 0; i < batch * size * size; ++i) {
          int64_t matrix = i / (size * size), row = i / size % size, column = i % size;
          int64_t line = isOfA ? position / size % size : position % size;
          bool reads = matrix == position / (size * size) && (isOfA ? row : column) == line;
          ASSERT_EQ(found[i], reads ? -tiny * big : 0) << "element " << i << " place " << position;
        }
      }
}

// The kernels of f32 run on converted numbers, so only the rounding at the end differs.
TEST(NarrowAttention, IsThatOfF32Rounded) {
  ThreadPool pool(3);
  for (ElementType type : kNarrow)
    for (float dropout : {0.0f, 0.25f})
      for (const AttentionSizes &sizes : edgeSizes()) {
        AttentionProblem problem(sizes, dropout);
        problem.addGradientOfLse();
        auto q = narrowed(type, problem.q), k = narrowed(type, problem.k),
             v = narrowed(type, problem.v), dout = narrowed(type, problem.dout);
        problem.q = widened(type, q), problem.k = widened(type, k), problem.v = widened(type, v);
        problem.dout = widened(type, dout);
        problem.args.q = problem.q.data(), problem.args.k = problem.k.data();
        problem.args.v = problem.v.data();
        attention(problem.args, pool);
        std::vector<float> lse = problem.lse;
        std::vector<uint16_t> out(dout.size()), dq(q.size()), dk(k.size()), dv(v.size());
        NarrowTensors tensors{type,        q.data(),  k.data(),  v.data(), out.data(),
                              dout.data(), dq.data(), dk.data(), dv.data()};
        std::fill(problem.lse.begin(), problem.lse.end(), -7.0f);
        narrowAttention(problem.args, tensors, pool);
        ASSERT_TRUE(sameBits(problem.lse, lse)) << describe(sizes);
        ASSERT_EQ(out, narrowed(type, problem.out)) << describe(sizes);
        problem.out = widened(type, out); // backward reads it
        problem.args.out = problem.out.data();
        AttentionGradArgs grad{problem.args,       problem.dout.data(), problem.dq.data(),
                               problem.dk.data(),  problem.dv.data(),   problem.scratch.data(),
                               problem.dlse.data()};
        tensors.dlse = problem.dlse.data();
        std::vector<float> dbias = problem.dbias;
        if (!dbias.empty())
          grad.dbias = dbias.data(), tensors.dbias = problem.dbias.data();
        attentionGrad(grad, pool);
        narrowAttentionGrad(problem.args, tensors, problem.scratch.data(), pool);
        // The cuts of ranges change no bit of the kernels of f32.
        ASSERT_EQ(dq, narrowed(type, problem.dq)) << describe(sizes);
        ASSERT_EQ(dk, narrowed(type, problem.dk)) << describe(sizes);
        ASSERT_EQ(dv, narrowed(type, problem.dv)) << describe(sizes);
        ASSERT_TRUE(sameBits(dbias, problem.dbias)) << describe(sizes);
      }
}

TEST(NarrowEmbedding, CopiesRowsAndAddsGradientsInF32) {
  ThreadPool pool(3);
  const int64_t rows = 50, tokens = 1000;
  for (ElementType type : kNarrow)
    for (int64_t columns : kEdges) {
      auto table = narrowed(type, randomFloats(rows * columns, 1));
      std::vector<int32_t> ids(tokens);
      std::mt19937 generator(5);
      for (int32_t &id : ids)
        id = static_cast<int32_t>(generator() % 60); // some are beyond the table
      std::vector<uint16_t> out(tokens * columns, 0x1234);
      embedding(table.data(), ids.data(), out.data(), rows, columns, tokens, 0, pool, type);
      for (int64_t i = 0; i < tokens * columns; ++i) {
        int64_t row = ids[i / columns];
        ASSERT_EQ(out[i], row < rows ? table[row * columns + i % columns] : 0);
      }
      auto dout = narrowed(type, randomFloats(tokens * columns, 2));
      auto wide = widened(type, dout), before = randomFloats(rows * columns, 3);
      for (bool accumulate : {false, true}) {
        std::vector<float> found = before, wanted = before;
        embeddingGrad(found.data(), ids.data(), dout.data(), rows, columns, tokens, 0, accumulate,
                      pool, type);
        embeddingGrad(wanted.data(), ids.data(), wide.data(), rows, columns, tokens, 0, accumulate,
                      pool);
        ASSERT_TRUE(sameBits(found, wanted)) << columns << " columns";
      }
    }
}

} // namespace
} // namespace dtc::cpu
