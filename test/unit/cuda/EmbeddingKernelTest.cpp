// Checks that the embedding's CUDA kernels on the emulator give the same bits as those of CPUs.
#include "kernels/cpu/Embedding.h"
#include "kernels/cpu/ThreadPool.h"
#include "kernels/cuda/Embedding.h"
#include "test/unit/cuda/CudaTestSupport.h"

namespace dtc::cuda {
namespace {

struct Case {
  ElementType type;
  int64_t rows, columns, tokens, firstRow = 0;
};

std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << nameOf(c.type) << " " << c.rows << "x" << c.columns << " tokens " << c.tokens
             << " from " << c.firstRow;
}

// Returns ids of some rows often, of some never, and of some outside of the table.
std::vector<int32_t> someIds(const Case &c) {
  std::mt19937 engine(3);
  std::uniform_int_distribution<int64_t> any(-2, c.rows + 1), few(0, 2), coin(0, 1);
  std::vector<int32_t> ids(static_cast<size_t>(c.tokens));
  for (int32_t &id : ids)
    id = static_cast<int32_t>((coin(engine) ? any(engine) : few(engine)) + c.firstRow);
  return ids;
}

class EmbeddingKernel : public testing::TestWithParam<Case> {};

TEST_P(EmbeddingKernel, LooksUpWhatTheCpuDoes) {
  const Case &c = GetParam();
  Numbers numbers(5);
  std::vector<uint8_t> table = numbers.normalBytes(c.type, c.rows * c.columns);
  std::vector<int32_t> ids = someIds(c);
  std::vector<uint8_t> expected(static_cast<size_t>(c.tokens * c.columns * bytesOf(c.type)));
  cpu::ThreadPool pool(1);
  cpu::embedding(table.data(), ids.data(), expected.data(), c.rows, c.columns, c.tokens, c.firstRow,
                 pool, c.type);

  EmulatedGpu gpu;
  auto *out = gpu.allocate<uint8_t>(expected.size());
  EmbeddingParams params{gpu.upload(table), gpu.upload(ids), out,        c.rows,
                         c.columns,         c.tokens,        c.firstRow, /*units*/ 0};
  std::vector<Launch> launches;
  ASSERT_EQ(planEmbedding(c.type, params, launches), "");
  gpu.launch(launches, &params);
  EXPECT_EQ(std::vector<uint8_t>(out, out + expected.size()), expected);
}

TEST_P(EmbeddingKernel, SumsWhatTheCpuDoes) {
  const Case &c = GetParam();
  Numbers numbers(6);
  std::vector<uint8_t> dout = numbers.normalBytes(c.type, c.tokens * c.columns);
  std::vector<float> before = numbers.normal(c.rows * c.columns);
  std::vector<int32_t> ids = someIds(c);
  // The cases are without padding, with the row that is used most, and with one of another rank.
  for (int64_t padding : {int64_t(-1), c.firstRow + 1, c.firstRow + c.rows})
    for (bool accumulate : {false, true}) {
      std::vector<float> expected = before;
      cpu::ThreadPool pool(1);
      cpu::embeddingGrad(expected.data(), ids.data(), dout.data(), c.rows, c.columns, c.tokens,
                         c.firstRow, accumulate, pool, c.type, padding);

      EmulatedGpu gpu;
      float *grad = accumulate ? gpu.upload(before) : gpu.allocate<float>(before.size());
      EmbeddingGradParams params{grad,     gpu.upload(ids), gpu.upload(dout), c.rows,    c.columns,
                                 c.tokens, c.firstRow,      accumulate,       /*rows*/ 0};
      params.skippedRow = padding < 0 ? -1 : padding - c.firstRow;
      std::vector<Launch> launches;
      ASSERT_EQ(planEmbeddingGrad(c.type, params, launches), "");
      gpu.launch(launches, &params, /*seed=*/accumulate);
      EXPECT_EQ(std::vector<float>(grad, grad + before.size()), expected)
          << accumulate << " padding " << padding;
    }
}

constexpr ElementType F32 = ElementType::F32, BF16 = ElementType::BF16, F16 = ElementType::F16;
INSTANTIATE_TEST_SUITE_P(All, EmbeddingKernel,
                         testing::Values(Case{F32, 1, 1, 1}, Case{F32, 31, 33, 32},
                                         Case{F32, 33, 132, 1000, 7}, Case{BF16, 5, 31, 33},
                                         Case{BF16, 1000, 32, 65, -3},
                                         // A block's rows have more tokens than its list holds.
                                         Case{BF16, 2, 8, 20001}, Case{F16, 33, 65, 1000},
                                         Case{F16, 2100, 4, 1025}, Case{F32, 32, 4, 0}));

} // namespace
} // namespace dtc::cuda
