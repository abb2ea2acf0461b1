// Runs the CUDA kernels of grouped products on the emulator beside those of the CPU. Memory that
// nobody may read is poisoned: rows behind the last group, and the matrices of groups without rows.
#include "kernels/cpu/GroupedGemm.h"
#include "kernels/cpu/ThreadPool.h"
#include "kernels/cuda/GroupedGemm.h"
#include "test/unit/cuda/CudaTestSupport.h"

namespace dtc::cuda {
namespace {

constexpr ElementType F32 = ElementType::F32, BF16 = ElementType::BF16, F16 = ElementType::F16;

struct Case {
  ElementType type, resultType;
  std::vector<int32_t> counts; // [samples, groups]
  int32_t samples, rows, k, n;
};

std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << nameOf(c.type) << " to " << nameOf(c.resultType) << " " << c.counts.size() << " of "
             << c.samples << ", " << c.rows << "x" << c.k << "x" << c.n;
}

class GroupedGemmKernel : public testing::TestWithParam<Case> {
protected:
  // Uploads a part of the bytes, and leaves the others poisoned.
  template <typename IsThere>
  static uint8_t *uploadPart(EmulatedGpu &gpu, const std::vector<uint8_t> &bytes,
                             int64_t blockBytes, const IsThere &isThere) {
    auto *to = gpu.allocate<uint8_t>(bytes.size());
    for (int64_t block = 0; block * blockBytes < static_cast<int64_t>(bytes.size()); ++block)
      if (isThere(block)) {
        std::copy_n(bytes.begin() + block * blockBytes, blockBytes, to + block * blockBytes);
        gpu.markWritten(to + block * blockBytes, static_cast<size_t>(blockBytes));
      }
    return to;
  }

  static void run(const Case &c, bool transB, bool sumsRows, bool accumulate) {
    SCOPED_TRACE(testing::Message() << c << (transB ? " transposed" : "")
                                    << (sumsRows ? " sums" : "") << (accumulate ? " adds" : ""));
    Numbers numbers(5);
    int64_t groups = static_cast<int64_t>(c.counts.size()) / c.samples;
    int64_t matrix = int64_t(c.k) * c.n, size = bytesOf(c.type);
    auto a = numbers.normalBytes(c.type, int64_t(c.rows) * c.k);
    auto b = numbers.normalBytes(c.type, sumsRows ? int64_t(c.rows) * c.n : groups * matrix);
    std::vector<uint8_t> before =
        numbers.normalBytes(c.resultType, sumsRows ? groups * matrix : int64_t(c.rows) * c.n);
    std::vector<uint8_t> expected = before;
    cpu::GroupedGemmArgs args{.a = a.data(),
                              .b = b.data(),
                              .c = expected.data(),
                              .counts = c.counts.data(),
                              .type = c.type,
                              .resultType = c.resultType,
                              .groups = groups,
                              .samples = c.samples,
                              .rows = c.rows,
                              .k = c.k,
                              .n = c.n,
                              .transB = transB,
                              .sumsRows = sumsRows,
                              .accumulate = accumulate};
    cpu::ThreadPool pool(1);
    cpu::groupedGemm(args, pool);

    int64_t used = 0;
    std::vector<int64_t> own(static_cast<size_t>(groups));
    for (size_t i = 0; i < c.counts.size(); ++i)
      own[i % own.size()] += c.counts[i], used += c.counts[i];
    auto isRow = [&](int64_t row) { return row < used; };
    auto isMatrix = [&](int64_t group) { return own[static_cast<size_t>(group)] > 0; };
    EmulatedGpu gpu;
    GroupedGemmParams params{};
    params.a = uploadPart(gpu, a, size * c.k, isRow);
    params.b = sumsRows ? uploadPart(gpu, b, size * c.n, isRow)
                        : uploadPart(gpu, b, size * matrix, isMatrix);
    auto *found = accumulate ? gpu.upload(before) : gpu.allocate<uint8_t>(before.size());
    params.c = found;
    params.counts = gpu.upload(c.counts);
    params.groups = static_cast<int32_t>(groups), params.samples = c.samples;
    params.rows = c.rows, params.k = c.k, params.n = c.n;
    params.transB = transB, params.sumsRows = sumsRows, params.accumulate = accumulate;
    std::vector<Launch> launches;
    ASSERT_EQ(planGroupedGemm(c.type, c.resultType, params, launches), "");
    gpu.launch(launches, &params, /*seed=*/c.rows);
    // Sums of up to 400 products in f32, in another order; 16-bit results are rounded once more.
    double tolerance = c.resultType == F32 ? 3e-6 : c.resultType == F16 ? 0x1p-10 : 0x1p-7;
    EXPECT_LE(relativeError(toFloats(c.resultType, {found, found + before.size()}),
                            toFloats(c.resultType, expected)),
              tolerance);
  }
};

TEST_P(GroupedGemmKernel, MultipliesWhatTheCpuDoes) {
  for (bool transB : {false, true})
    run(GetParam(), transB, /*sumsRows=*/false, /*accumulate=*/false);
}

TEST_P(GroupedGemmKernel, SumsWhatTheCpuDoes) {
  for (bool accumulate : {false, true})
    if (!accumulate || GetParam().resultType == F32)
      run(GetParam(), /*transB=*/false, /*sumsRows=*/true, accumulate);
}

std::vector<int32_t> manyGroups() {
  std::vector<int32_t> counts(300);
  for (size_t i = 0; i < counts.size(); i += 7)
    counts[i] = static_cast<int32_t>(i % 3 + 1);
  return counts;
}

INSTANTIATE_TEST_SUITE_P(
    All, GroupedGemmKernel,
    testing::Values(
        // Groups of 0, 1, 7 and 133 rows, of two samples.
        Case{F32, F32, {0, 1, 3, 100, 0, 0, 4, 33}, 2, 150, 40, 136},
        Case{BF16, BF16, {0, 1, 3, 100, 0, 0, 4, 33}, 2, 150, 40, 136},
        Case{BF16, F32, {0, 1, 3, 100, 0, 0, 4, 33}, 2, 150, 104, 72},
        Case{F16, F16, {0, 1, 3, 100, 0, 0, 4, 33}, 2, 150, 40, 136},
        Case{F16, F32, {128, 0, 129}, 1, 257, 136, 264},
        // Rows are not whole 16 bytes.
        Case{BF16, BF16, {5, 70, 0}, 1, 80, 33, 5}, Case{BF16, F32, {5, 70, 0}, 1, 80, 17, 130},
        Case{F16, F16, {5, 70, 0}, 1, 80, 33, 7}, Case{F16, F32, {5, 70, 0}, 1, 75, 1, 1},
        Case{F32, F32, {65, 64}, 1, 129, 31, 129},
        // No rows at all, and more groups than a block has threads.
        Case{BF16, BF16, {0, 0, 0}, 1, 9, 16, 24}, Case{F32, F32, {0, 0, 0}, 1, 9, 16, 24},
        Case{BF16, F32, manyGroups(), 1, 120, 8, 8}, Case{F32, F32, manyGroups(), 3, 120, 5, 8}));

} // namespace
} // namespace dtc::cuda
