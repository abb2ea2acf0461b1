#include "kernels/cpu/Embedding.h"
#include "test/unit/kernels/KernelsTestSupport.h"

namespace dtc::cpu {
namespace {

using namespace test;

std::vector<int32_t> someIds(int64_t count, int32_t vocabulary) {
  std::mt19937 generator(5);
  std::vector<int32_t> ids(count);
  for (int32_t &id : ids)
    id = static_cast<int32_t>(generator() % static_cast<uint32_t>(vocabulary));
  return ids;
}

TEST(Embedding, CopiesRowsOfThisPartAndZeroesTheOthers) {
  std::vector<float> table = {1, 2, 3, 4}, out(8, -1); // rows 10 and 11, two columns
  std::vector<int32_t> ids = {11, 9, 10, 12};
  ThreadPool pool(2);
  embedding(table.data(), ids.data(), out.data(), 2, 2, 4, 10, pool);
  EXPECT_EQ(out, (std::vector<float>{3, 4, 0, 0, 1, 2, 0, 0}));
}

TEST(Embedding, PartsOfTheTableAddUpToTheWhole) {
  const int64_t vocabulary = 1000, tokens = 127;
  for (int64_t columns : {1, 31, 33, 768}) {
    auto table = randomFloats(vocabulary * columns, 1);
    auto ids = someIds(tokens, vocabulary);
    std::vector<float> whole(tokens * columns), first(whole), second(whole);
    ThreadPool pool(3);
    embedding(table.data(), ids.data(), whole.data(), vocabulary, columns, tokens, 0, pool);
    embedding(table.data(), ids.data(), first.data(), 400, columns, tokens, 0, pool);
    embedding(table.data() + 400 * columns, ids.data(), second.data(), 600, columns, tokens, 400,
              pool);
    for (size_t i = 0; i < whole.size(); ++i) {
      ASSERT_EQ(whole[i], table[ids[i / columns] * columns + i % columns]);
      ASSERT_EQ(first[i] + second[i], whole[i]);
    }
  }
}

TEST(EmbeddingGrad, AddsInOrderOfTokensOnAnyNumberOfThreads) {
  const int64_t vocabulary = 50, tokens = 1000; // about 20 tokens per row
  for (bool accumulate : {false, true})
    for (int64_t columns : {1, 31, 32, 33, 127}) {
      auto dout = randomFloats(tokens * columns, 2);
      auto ids = someIds(tokens, vocabulary);
      auto before = randomFloats(30 * columns, 3);
      std::vector<float> wanted = accumulate ? before : std::vector<float>(before.size());
      for (int64_t token = 0; token < tokens; ++token)
        for (int64_t column = 0; column < columns; ++column)
          if (int64_t row = ids[token] - 10; row >= 0 && row < 30)
            wanted[row * columns + column] += dout[token * columns + column];
      for (int threads : {1, 2, 3, 8}) {
        ThreadPool pool(threads);
        std::vector<float> grad = before;
        embeddingGrad(grad.data(), ids.data(), dout.data(), 30, columns, tokens, 10, accumulate,
                      pool);
        EXPECT_TRUE(sameBits(grad, wanted)) << columns << " columns, " << threads << " threads";
      }
    }
}

// This rank has rows 10 and 11 of a table. Ids are global, and so is the one that is skipped.
TEST(EmbeddingGrad, GivesThePaddingRowNothing) {
  std::vector<int32_t> ids = {11, 9, 10, 11, 10};
  std::vector<float> dout = {1, 2, 3, 4, 5};
  ThreadPool pool(2);
  auto gradOf = [&](int64_t padding) {
    std::vector<float> grad = {100, 200};
    embeddingGrad(grad.data(), ids.data(), dout.data(), 2, 1, 5, 10, /*accumulate=*/true, pool,
                  ElementType::F32, padding);
    return grad;
  };
  EXPECT_EQ(gradOf(-1), (std::vector<float>{108, 205}));
  EXPECT_EQ(gradOf(10), (std::vector<float>{100, 205}));
  EXPECT_EQ(gradOf(11), (std::vector<float>{108, 200}));
  EXPECT_EQ(gradOf(9), (std::vector<float>{108, 205})); // a row of another rank
  EXPECT_EQ(gradOf(1), (std::vector<float>{108, 205})); // not the row that has this number here
}

TEST(Embedding, TakesZeroSizes) {
  ThreadPool pool(2);
  std::vector<float> grad(6, 1);
  embedding(nullptr, nullptr, nullptr, 0, 3, 0, 0, pool);
  embeddingGrad(grad.data(), nullptr, nullptr, 2, 3, 0, 0, true, pool);
  EXPECT_EQ(grad, std::vector<float>(6, 1));
  embeddingGrad(grad.data(), nullptr, nullptr, 2, 3, 0, 0, false, pool);
  EXPECT_EQ(grad, std::vector<float>(6, 0));
}

} // namespace
} // namespace dtc::cpu
