#include "test/unit/kernels/AttentionReference.h"

namespace dtc::cpu {
namespace {

using namespace test;

// Scores of magnitude 10 with 2^-24 relative rounding each give weights that are right to about
// 2e-6.
constexpr double kTolerance = 5e-6;

void expectForward(AttentionProblem &problem, const AttentionReference &wanted, ThreadPool &pool) {
  problem.clear();
  attention(problem.args, pool);
  expectClose(problem.out, wanted.out, kTolerance, describe(problem.sizes) + ": out");
  for (size_t i = 0; i < wanted.lse.size(); ++i)
    if (std::isinf(wanted.lse[i]))
      EXPECT_EQ(problem.lse[i], wanted.lse[i]) << describe(problem.sizes);
    else
      EXPECT_NEAR(problem.lse[i], wanted.lse[i], kTolerance * (1 + std::abs(wanted.lse[i])))
          << describe(problem.sizes);
}

TEST(Attention, AgreesWithTheReferenceAtEdgeSizes) {
  ThreadPool pool(2);
  for (const AttentionSizes &sizes : edgeSizes()) {
    AttentionProblem problem(sizes);
    AttentionReference wanted(problem);
    forEachIsa([&] { expectForward(problem, wanted, pool); });
  }
}

TEST(Attention, DropsWeightsByTheirGlobalIndex) {
  ThreadPool pool(2);
  forEachIsa([&] {
    for (float dropout : {0.1f, 0.5f, 1.0f})
      for (bool causal : {false, true}) {
        AttentionProblem problem({2, 70, 101, 4, 2, 32, causal}, dropout);
        if (dropout < 1) {
          expectForward(problem, AttentionReference(problem), pool);
          continue;
        }
        attention(problem.args, pool);
        EXPECT_EQ(problem.out, std::vector<float>(problem.out.size(), 0));
      }
  });
}

// Two ranks that compute the same heads and samples get the results of one rank.
TEST(Attention, DropsTheSameWeightsHoweverHeadsAndBatchAreSplit) {
  ThreadPool pool(1);
  AttentionProblem whole({2, 40, 40, 4, 4, 16, true}, 0.3f);
  whole.args.globalBatch0 = 0, whole.args.globalHead0 = 0, whole.args.totalHeads = 4;
  attention(whole.args, pool);
  for (int64_t head0 : {0, 2}) {
    AttentionProblem part({1, 40, 40, 2, 2, 16, true}, 0.3f);
    part.args.globalBatch0 = 1, part.args.globalHead0 = head0, part.args.totalHeads = 4;
    auto copyHeads = [&](const std::vector<float> &from, std::vector<float> &to) {
      for (int64_t token = 0; token < 40; ++token)
        std::copy_n(from.begin() + ((40 + token) * 4 + head0) * 16, 32, to.begin() + token * 32);
    };
    copyHeads(whole.q, part.q), copyHeads(whole.k, part.k), copyHeads(whole.v, part.v);
    attention(part.args, pool);
    std::vector<float> wanted(part.out.size());
    copyHeads(whole.out, wanted);
    EXPECT_TRUE(sameBits(part.out, wanted)) << "head " << head0;
  }
}

TEST(Attention, GivesTheSameBitsForAnyNumberOfThreads) {
  forEachIsa([&] {
    for (float dropout : {0.f, 0.2f})
      for (bool causal : {false, true}) {
        AttentionProblem first({1, 333, 333, 6, 2, 64, causal}, dropout);
        ThreadPool one(1);
        attention(first.args, one);
        for (int threads : {2, 3, 8}) {
          AttentionProblem other(first.sizes, dropout);
          ThreadPool pool(threads);
          attention(other.args, pool);
          EXPECT_TRUE(sameBits(other.out, first.out)) << threads << " threads";
          EXPECT_TRUE(sameBits(other.lse, first.lse)) << threads << " threads";
        }
      }
  });
}

TEST(Attention, KeepsLargeScoresFinite) {
  ThreadPool pool(1);
  AttentionProblem problem({1, 100, 100, 1, 1, 64, true});
  for (float &value : problem.q)
    value *= 1000; // scores of several thousand: exp overflows without the maximum
  attention(problem.args, pool);
  for (float value : problem.out)
    ASSERT_TRUE(std::abs(value) <= 1.0001f) << value;
}

TEST(Exp2, HasARelativeErrorBelowTheBound) {
  forEachIsa([] {
    std::vector<float> x, found;
    for (double value = 0; value > -125.99; value -= 0.00137)
      x.push_back(static_cast<float>(value));
    found.resize(x.size());
    isaKernels().exp2NonPositive(x.data(), found.data(), static_cast<int64_t>(x.size()));
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, std::abs(found[i] / std::exp2(double(x[i])) - 1));
    EXPECT_LT(worst, 2e-7);
  });
}

TEST(Exp2, TakesInfinityAndNaN) {
  forEachIsa([] {
    std::vector<float> x = {-std::numeric_limits<float>::infinity(), -1e30f, -127.f, 0.f, -1.f,
                            std::numeric_limits<float>::quiet_NaN()};
    std::vector<float> found(x.size());
    isaKernels().exp2NonPositive(x.data(), found.data(), static_cast<int64_t>(x.size()));
    EXPECT_EQ(std::vector<float>(found.begin(), found.end() - 1),
              (std::vector<float>{0, 0, 0, 1, 0.5f}));
    EXPECT_TRUE(std::isnan(found.back()));
  });
}

} // namespace
} // namespace dtc::cpu
