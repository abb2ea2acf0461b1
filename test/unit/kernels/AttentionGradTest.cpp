#include "test/unit/kernels/AttentionReference.h"

namespace dtc::cpu {
namespace {

using namespace test;

// sums over up to 1000 tokens of weights that are right to about 2e-6
constexpr double kTolerance = 3e-5;

void runBoth(AttentionProblem &problem, ThreadPool &pool) {
  attention(problem.args, pool);
  attentionGrad(problem.gradArgs(), pool);
}

void expectGradients(AttentionProblem &problem, const AttentionReference &wanted,
                     ThreadPool &pool) {
  problem.clear();
  runBoth(problem, pool);
  expectClose(problem.dq, wanted.dq, kTolerance, describe(problem.sizes) + ": dq");
  expectClose(problem.dk, wanted.dk, kTolerance, describe(problem.sizes) + ": dk");
  expectClose(problem.dv, wanted.dv, kTolerance, describe(problem.sizes) + ": dv");
  expectClose(problem.dbias, wanted.dbias, kTolerance, describe(problem.sizes) + ": dbias");
}

TEST(AttentionGrad, AgreesWithTheReferenceAtEdgeSizes) {
  ThreadPool pool(2);
  for (const AttentionSizes &sizes : edgeSizes()) {
    AttentionProblem problem(sizes);
    AttentionReference wanted(problem);
    forEachIsa([&] { expectGradients(problem, wanted, pool); });
  }
}

TEST(AttentionGrad, AgreesWithTheReferenceForAGradientOfLse) {
  ThreadPool pool(2);
  for (const AttentionSizes &sizes : edgeSizes()) {
    AttentionProblem problem(sizes);
    problem.addGradientOfLse();
    AttentionReference wanted(problem);
    forEachIsa([&] { expectGradients(problem, wanted, pool); });
  }
}

TEST(AttentionGrad, AgreesWithTheReferenceUnderDropout) {
  ThreadPool pool(2);
  forEachIsa([&] {
    for (bool causal : {false, true}) {
      AttentionProblem problem({2, 70, 101, 4, 2, 32, causal}, 0.25f);
      expectGradients(problem, AttentionReference(problem), pool);
    }
  });
}

// Compares the analytic reference with finite differences of its forward part.
TEST(AttentionGrad, ReferenceAgreesWithFiniteDifferences) {
  AttentionProblem problem({.batch = 2,
                            .queries = 6,
                            .keys = 9,
                            .heads = 2,
                            .kvHeads = 1,
                            .headDim = 4,
                            .causal = true,
                            .window = 4,
                            .softCap = 3.0f,
                            .valueDim = 3,
                            .lengths = {8, 9},
                            .bias = {1, 2, 6, 9},
                            .slopes = true},
                           0.25f);
  for (float &each : problem.bias)
    each = std::max(each, -1.0f); // no step may show or hide a key
  problem.addGradientOfLse();
  AttentionReference analytic(problem);
  auto loss = [&] {
    AttentionReference forward(problem);
    double sum = 0;
    for (size_t i = 0; i < forward.out.size(); ++i)
      sum += forward.out[i] * problem.dout[i];
    for (size_t i = 0; i < forward.lse.size(); ++i)
      sum += forward.lse[i] * problem.dlse[i];
    return sum;
  };
  auto check = [&](std::vector<float> &input, const std::vector<double> &gradient) {
    for (size_t i = 0; i < input.size(); ++i) {
      const float saved = input[i], step = 1.f / 1024;
      input[i] = saved + step;
      double above = loss(), high = input[i];
      input[i] = saved - step;
      double below = loss(), low = input[i];
      input[i] = saved;
      EXPECT_NEAR((above - below) / (high - low), gradient[i], 1e-5) << "element " << i;
    }
  };
  check(problem.q, analytic.dq);
  check(problem.k, analytic.dk);
  check(problem.v, analytic.dv);
  check(problem.bias, analytic.dbias);
}

TEST(AttentionGrad, GivesTheSameBitsForAnyNumberOfThreads) {
  forEachIsa([&] {
    for (float dropout : {0.f, 0.2f})
      for (bool causal : {false, true}) {
        AttentionProblem first({2, 300, 300, 3, 1, 64, causal}, dropout);
        ThreadPool one(1);
        runBoth(first, one);
        for (int threads : {2, 3, 8}) { // 3 and 8 cut queries and keys, 2 cuts only heads
          AttentionProblem other(first.sizes, dropout);
          ThreadPool pool(threads);
          runBoth(other, pool);
          EXPECT_TRUE(sameBits(other.dq, first.dq)) << threads << " threads";
          EXPECT_TRUE(sameBits(other.dk, first.dk)) << threads << " threads";
          EXPECT_TRUE(sameBits(other.dv, first.dv)) << threads << " threads";
        }
      }
  });
}

TEST(AttentionGrad, GivesTheSameBitsForAnyNumberOfThreadsWithAWindow) {
  forEachIsa([&] {
    for (int64_t window : {40, 500}) {
      AttentionProblem first({1, 900, 900, 2, 1, 16, true, window, 3.0f});
      ThreadPool one(1);
      runBoth(first, one);
      for (int threads : {3, 8}) {
        AttentionProblem other(first.sizes);
        ThreadPool pool(threads);
        runBoth(other, pool);
        EXPECT_TRUE(sameBits(other.out, first.out)) << threads << " threads";
        EXPECT_TRUE(sameBits(other.dq, first.dq)) << threads << " threads";
        EXPECT_TRUE(sameBits(other.dk, first.dk)) << threads << " threads";
        EXPECT_TRUE(sameBits(other.dv, first.dv)) << threads << " threads";
      }
    }
  });
}

TEST(AttentionGrad, GivesTheSameBitsForAnyNumberOfThreadsWithABias) {
  forEachIsa([&] {
    for (const std::vector<int64_t> &bias :
         {std::vector<int64_t>{1, 3, 400, 400}, {3, 1, 1, 400}, {1, 1, 400, 1}, {1, 1, 1, 1}}) {
      AttentionProblem first({.batch = 3,
                              .queries = 400,
                              .keys = 400,
                              .heads = 3,
                              .kvHeads = 1,
                              .headDim = 16,
                              .causal = false,
                              .lengths = {400, 77, 0},
                              .bias = bias});
      ThreadPool one(1);
      runBoth(first, one);
      for (int threads : {3, 8}) {
        AttentionProblem other(first.sizes);
        ThreadPool pool(threads);
        runBoth(other, pool);
        EXPECT_TRUE(sameBits(other.out, first.out)) << threads << " threads";
        EXPECT_TRUE(sameBits(other.dq, first.dq)) << threads << " threads";
        EXPECT_TRUE(sameBits(other.dk, first.dk)) << threads << " threads";
        EXPECT_TRUE(sameBits(other.dbias, first.dbias)) << threads << " threads";
      }
    }
  });
}

TEST(AttentionGrad, GivesTheSameBitsForAnyNumberOfThreadsWithDocuments) {
  forEachIsa([&] {
    for (bool causal : {false, true}) {
      AttentionProblem first({.batch = 1,
                              .queries = 900,
                              .keys = 900,
                              .heads = 2,
                              .kvHeads = 1,
                              .headDim = 16,
                              .causal = causal,
                              .documents = documentsOf(1, 900, {300, 1, 40, 2})});
      ThreadPool one(1);
      runBoth(first, one);
      for (int threads : {3, 8}) {
        AttentionProblem other(first.sizes);
        ThreadPool pool(threads);
        runBoth(other, pool);
        EXPECT_TRUE(sameBits(other.out, first.out)) << threads << " threads";
        EXPECT_TRUE(sameBits(other.dq, first.dq)) << threads << " threads";
        EXPECT_TRUE(sameBits(other.dk, first.dk)) << threads << " threads";
        EXPECT_TRUE(sameBits(other.dv, first.dv)) << threads << " threads";
      }
    }
  });
}

// Numbers that fall are an error of the data, which the kernels survive: each run is a document.
TEST(AttentionGrad, TakesEachRunOfANumberForADocument) {
  ThreadPool pool(2);
  AttentionSizes sizes{.batch = 1,
                       .queries = 300,
                       .keys = 300,
                       .heads = 1,
                       .kvHeads = 1,
                       .headDim = 8,
                       .causal = true,
                       .documents = documentsOf(1, 300, {7, 90})};
  AttentionProblem rising(sizes);
  for (int32_t &number : sizes.documents)
    number = -number;
  AttentionProblem falling(sizes);
  runBoth(rising, pool);
  runBoth(falling, pool);
  EXPECT_TRUE(sameBits(rising.out, falling.out) && sameBits(rising.dk, falling.dk));
}

// Masks that hide nothing change no bit of causal attention.
TEST(AttentionGrad, GivesTheBitsOfCausalAttentionWithAllKeysOfAllSamples) {
  ThreadPool pool(2);
  AttentionProblem causal({2, 500, 500, 2, 1, 32, true});
  AttentionProblem whole({.batch = 2,
                          .queries = 500,
                          .keys = 500,
                          .heads = 2,
                          .kvHeads = 1,
                          .headDim = 32,
                          .causal = true,
                          .prefix = 1,
                          .lengths = {500, 700}});
  AttentionProblem single({.batch = 2,
                           .queries = 500,
                           .keys = 500,
                           .heads = 2,
                           .kvHeads = 1,
                           .headDim = 32,
                           .causal = true,
                           .documents = std::vector<int32_t>(1000, 7)});
  runBoth(single, pool);
  runBoth(causal, pool);
  runBoth(whole, pool);
  EXPECT_TRUE(sameBits(causal.out, whole.out) && sameBits(causal.lse, whole.lse));
  EXPECT_TRUE(sameBits(causal.dq, whole.dq) && sameBits(causal.dk, whole.dk) &&
              sameBits(causal.dv, whole.dv));
  EXPECT_TRUE(sameBits(causal.out, single.out) && sameBits(causal.lse, single.lse));
  EXPECT_TRUE(sameBits(causal.dq, single.dq) && sameBits(causal.dk, single.dk) &&
              sameBits(causal.dv, single.dv));
}

// A window hides nothing from queries that see fewer keys anyway.
TEST(AttentionGrad, GivesTheBitsOfCausalAttentionWithAWindowOfAllKeys) {
  ThreadPool pool(2);
  AttentionProblem causal({1, 500, 500, 2, 1, 32, true}), wide({1, 500, 500, 2, 1, 32, true, 500});
  runBoth(causal, pool);
  runBoth(wide, pool);
  EXPECT_TRUE(sameBits(causal.out, wide.out) && sameBits(causal.lse, wide.lse));
  EXPECT_TRUE(sameBits(causal.dq, wide.dq) && sameBits(causal.dk, wide.dk) &&
              sameBits(causal.dv, wide.dv));
}

} // namespace
} // namespace dtc::cpu
