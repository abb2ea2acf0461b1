#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/GemmArgs.h"
#include "kernels/cpu/TiledGemm.h"
#include "test/unit/kernels/KernelsTestSupport.h"

#include <limits>

namespace dtc::cpu {
namespace {

using namespace test;

// Operands with leading dimensions `pad` larger than needed, and the expected result of gemm.
struct Problem {
  GemmArgs args;
  std::vector<float> a, b, c;

  Problem(int64_t m, int64_t n, int64_t k, bool transA, bool transB, float alpha, float beta,
          int64_t batch = 1, int64_t pad = 0) {
    args.m = m, args.n = n, args.k = k;
    args.transA = transA, args.transB = transB;
    args.alpha = alpha, args.beta = beta;
    args.lda = (transA ? m : k) + pad, args.ldb = (transB ? k : n) + pad, args.ldc = n + pad;
    args.batch = batch;
    args.strideA = (transA ? k : m) * args.lda + pad;
    args.strideB = (transB ? n : k) * args.ldb + pad;
    args.strideC = m * args.ldc + pad;
    a = randomFloats(batch * args.strideA, 1);
    b = randomFloats(batch * args.strideB, 2);
    c = randomFloats(batch * args.strideC, 3);
    args.a = a.data(), args.b = b.data();
  }

  std::vector<double> reference() const {
    std::vector<double> wanted(c.begin(), c.end());
    for (int64_t i = 0; i < args.batch * args.m * args.n; ++i) {
      int64_t batch = i / (args.m * args.n), row = i / args.n % args.m, column = i % args.n;
      double sum = 0;
      for (int64_t p = 0; p < args.k; ++p)
        sum +=
            double(
                a[batch * args.strideA + (args.transA ? p * args.lda + row : row * args.lda + p)]) *
            b[batch * args.strideB + (args.transB ? column * args.ldb + p : p * args.ldb + column)];
      double &to = wanted[batch * args.strideC + row * args.ldc + column];
      to = args.alpha * sum + (args.beta == 0 ? 0 : args.beta * to);
    }
    return wanted;
  }

  template <typename Run> std::vector<float> run(const Run &gemmOf) const {
    std::vector<float> result = c;
    GemmArgs filled = args;
    filled.c = result.data();
    gemmOf(filled);
    return result;
  }
};

std::string describe(const GemmArgs &args) {
  return std::to_string(args.m) + "x" + std::to_string(args.n) + "x" + std::to_string(args.k) +
         (args.transA ? " T" : " N") + (args.transB ? "T" : "N");
}

// Sums of k products in (-1, 1): the error grows at most with sqrt(k) here.
double tolerance(int64_t k) { return 2e-6 * std::sqrt(double(k) + 1); }

TEST(Gemm, AgreesWithTheReferenceAtEdgeSizes) {
  ThreadPool pool(2);
  const int64_t sizes[][3] = {{1, 1, 1},     {1, 31, 32},   {31, 1, 33},    {32, 33, 1},
                              {31, 31, 31},  {32, 32, 32},  {33, 33, 33},   {127, 97, 65},
                              {1, 1000, 64}, {1000, 1, 64}, {13, 1000, 31}, {257, 129, 385}};
  for (auto &size : sizes)
    for (int form = 0; form < 4; ++form) {
      Problem problem(size[0], size[1], size[2], form & 1, form & 2, 1, 0, 1, form);
      auto found = problem.run([&](const GemmArgs &args) { gemm(args, pool); });
      expectClose(found, problem.reference(), tolerance(size[2]), describe(problem.args));
    }
}

TEST(Gemm, AppliesAlphaAndBeta) {
  ThreadPool pool(2);
  for (float alpha : {0.f, 1.f, -0.5f})
    for (float beta : {0.f, 1.f, 2.f}) {
      Problem problem(65, 47, 100, true, false, alpha, beta, 1, 3);
      auto found = problem.run([&](const GemmArgs &args) { gemm(args, pool); });
      expectClose(found, problem.reference(), tolerance(100), describe(problem.args));
    }
}

TEST(Gemm, RunsEachMatrixOfABatch) {
  ThreadPool pool(3);
  for (int64_t size : {5, 33, 130}) {
    Problem problem(size, size + 7, 64, false, true, 0.125f, 1, 7, 2);
    auto found = problem.run([&](const GemmArgs &args) { gemm(args, pool); });
    expectClose(found, problem.reference(), tolerance(64), describe(problem.args));
  }
}

TEST(Gemm, ReadsOneOperandForTheWholeBatchWithStrideZero) {
  ThreadPool pool(2);
  Problem problem(20, 30, 40, false, false, 1, 0, 3);
  problem.args.strideB = 0;
  auto found = problem.run([&](const GemmArgs &args) { gemm(args, pool); });
  expectClose(found, problem.reference(), tolerance(40), "batch of 3, one B");
}

TEST(Gemm, LeavesOrScalesCWhenThereIsNothingToAdd) {
  ThreadPool pool(2);
  for (float beta : {0.f, 1.f, 0.5f}) {
    Problem empty(33, 17, 0, false, false, 1, beta, 2);
    auto found = empty.run([&](const GemmArgs &args) { gemm(args, pool); });
    expectClose(found, empty.reference(), 0, "k = 0");
  }
  Problem noRows(0, 17, 5, false, false, 1, 0), noColumns(17, 0, 5, false, false, 1, 0);
  EXPECT_TRUE(sameBits(noRows.run([&](const GemmArgs &args) { gemm(args, pool); }), noRows.c));
  EXPECT_TRUE(
      sameBits(noColumns.run([&](const GemmArgs &args) { gemm(args, pool); }), noColumns.c));
}

TEST(Gemm, DoesNotReadCWhenBetaIsZero) {
  ThreadPool pool(2);
  for (int64_t k : {0, 64})
    for (int64_t size : {3, 70, 300}) {
      Problem problem(size, size, k, false, false, 1, 0);
      std::fill(problem.c.begin(), problem.c.end(), std::numeric_limits<float>::quiet_NaN());
      auto found = problem.run([&](const GemmArgs &args) { gemm(args, pool); });
      for (float value : found)
        ASSERT_FALSE(std::isnan(value)) << describe(problem.args);
    }
}

TEST(Gemm, GivesTheSameBitsForAnyNumberOfThreads) {
  ThreadPool one(1), two(2), three(3), eight(8);
  forEachIsa([&] {
    for (int form = 0; form < 4; ++form)
      for (auto size : {std::array<int64_t, 3>{256, 768, 384},
                        {1000, 127, 400},
                        {31, 2000, 96},
                        {700, 50, 1000},
                        {1, 1537, 300}}) {
        Problem problem(size[0], size[1], size[2], form & 1, form & 2, 1, 1);
        auto wanted = problem.run([&](const GemmArgs &args) { gemm(args, one); });
        for (ThreadPool *pool : {&two, &three, &eight})
          EXPECT_TRUE(
              sameBits(problem.run([&](const GemmArgs &args) { gemm(args, *pool); }), wanted))
              << describe(problem.args) << ", " << pool->size() << " threads";
      }
  });
}

TEST(TiledGemm, AgreesWithTheReferenceUnderEveryInstructionSet) {
  ThreadPool one(1), three(3);
  forEachIsa([&] {
    for (auto size : {std::array<int64_t, 3>{1, 1, 1},
                      {12, 32, 16},
                      {13, 33, 17},
                      {31, 65, 383},
                      {127, 100, 385},
                      {50, 3100, 40},
                      {400, 3073, 5}})
      for (int form = 0; form < 4; ++form) {
        Problem problem(size[0], size[1], size[2], form & 1, form & 2, 0.5f, form == 0 ? 0 : 2, 1,
                        form);
        auto found = problem.run([&](const GemmArgs &args) { tiledGemm(args, one); });
        expectClose(found, problem.reference(), tolerance(size[2]), describe(problem.args));
        auto shared = problem.run([&](const GemmArgs &args) { tiledGemm(args, three); });
        EXPECT_TRUE(sameBits(found, shared)) << describe(problem.args);
      }
  });
}

TEST(GemmTable, ChoosesByTheClassOfTheShape) {
  auto backend = [](GemmShape shape, int lanes = 16) { return chooseGemm(shape, lanes).backend; };
  EXPECT_EQ(backend({16, 16, 16, 64, false, false}), GemmBackend::OpenBlas);
  EXPECT_EQ(backend({1024, 3072, 768, 1, false, true}), GemmBackend::Tiles);
  EXPECT_EQ(backend({768, 3072, 4096, 1, true, false}), GemmBackend::Tiles);
  EXPECT_EQ(backend({1024, 768, 3072, 1, false, false}), GemmBackend::OneDnn);
  EXPECT_EQ(backend({1, 768, 768, 1, false, true}), GemmBackend::OneDnn);
  EXPECT_EQ(backend({1024, 64, 1024, 12, true, false}, 8), GemmBackend::OpenBlas);
  EXPECT_EQ(backend({1024, 64, 1024, 12, true, false}, 16), GemmBackend::OneDnn);
}

TEST(LibraryGemm, OneDnnAndOpenBlasAgreeWithTheReference) {
  for (GemmBackend backend : {GemmBackend::OneDnn, GemmBackend::OpenBlas})
    for (int form = 0; form < 4; ++form) {
      Problem problem(37, 53, 71, form & 1, form & 2, 1.5f, 0.5f, 1, 2);
      auto found = problem.run([&](const GemmArgs &args) { libraryGemm(backend, args); });
      expectClose(found, problem.reference(), tolerance(71), gemmBackendName(backend));
    }
}

// Both libraries have buffers of their own, which calls from several threads must not share.
TEST(LibraryGemm, TakesCallsFromManyThreadsAtOnce) {
  ThreadPool one(1), eight(8);
  for (GemmBackend backend : {GemmBackend::OneDnn, GemmBackend::OpenBlas})
    for (int64_t size : {9, 70}) {
      Problem problem(size, size, size, false, true, 1, 0, 200);
      GemmPlan plan{backend, size, size};
      auto wanted = problem.run([&](const GemmArgs &args) { gemmWithPlan(args, plan, one); });
      for (int round = 0; round < 5; ++round)
        ASSERT_TRUE(sameBits(
            problem.run([&](const GemmArgs &args) { gemmWithPlan(args, plan, eight); }), wanted))
            << gemmBackendName(backend) << ", size " << size;
    }
}

} // namespace
} // namespace dtc::cpu
