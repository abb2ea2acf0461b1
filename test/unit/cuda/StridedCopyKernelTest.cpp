// Checks that strided copies by CUDA kernels on the emulator give the same bits as those of CPUs.
#include "kernels/cpu/StridedCopy.h"
#include "kernels/cpu/ThreadPool.h"
#include "kernels/cuda/StridedCopy.h"
#include "test/unit/cuda/CudaTestSupport.h"

namespace dtc::cuda {
namespace {

struct Case {
  const char *kernel; // the kernel that must be chosen
  int elementBytes;
  std::vector<int64_t> sizes, srcStrides, dstStrides;
  bool accumulate = false;
  int64_t srcOffset = 0, dstOffset = 0;
};

std::ostream &operator<<(std::ostream &out, const Case &c) { return out << c.kernel; }

// Returns the number of elements from the first to the last that strides reach. Strides are not
// negative.
int64_t reach(const Case &c, const std::vector<int64_t> &strides) {
  int64_t last = 0;
  for (size_t i = 0; i < c.sizes.size(); ++i)
    last += (c.sizes[i] - 1) * strides[i];
  return last + 1;
}

class StridedCopyKernel : public testing::TestWithParam<Case> {};

TEST_P(StridedCopyKernel, MovesWhatTheCpuDoes) {
  const Case &c = GetParam();
  auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements * c.elementBytes); };
  size_t srcBytes = bytes(c.srcOffset + reach(c, c.srcStrides));
  size_t dstBytes = bytes(c.dstOffset + reach(c, c.dstStrides));
  Numbers numbers(9);
  std::vector<uint8_t> src =
      toBytes(ElementType::F32, numbers.normal(static_cast<int64_t>(srcBytes)));
  std::vector<uint8_t> dst =
      toBytes(ElementType::F32, numbers.normal(static_cast<int64_t>(dstBytes)));
  src.resize(srcBytes), dst.resize(dstBytes);

  EmulatedGpu gpu;
  uint8_t *from = gpu.upload(src), *to = gpu.upload(dst);
  CopyBox box{c.elementBytes,      static_cast<int>(c.sizes.size()),
              c.sizes.data(),      c.srcStrides.data(),
              c.dstStrides.data(), c.accumulate};
  StridedCopyParams params;
  std::vector<Launch> launches;
  ASSERT_EQ(
      planStridedCopy(box, from + bytes(c.srcOffset), to + bytes(c.dstOffset), params, launches),
      "");
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].kernel, std::string("StridedCopy_") + c.kernel);
  gpu.launch(launches, &params);

  cpu::ThreadPool pool(1);
  cpu::stridedCopy({src.data() + bytes(c.srcOffset), dst.data() + bytes(c.dstOffset),
                    static_cast<size_t>(c.elementBytes), box.numDims, box.sizes, box.srcStrides,
                    box.dstStrides, c.accumulate},
                   pool);
  EXPECT_EQ(std::vector<uint8_t>(to, to + dstBytes), dst);
}

INSTANTIATE_TEST_SUITE_P(
    All, StridedCopyKernel,
    testing::Values(Case{"copy16", 4, {1000}, {1}, {1}}, Case{"copy4", 4, {33}, {1}, {1}},
                    Case{"copy16", 4, {31, 32}, {36, 1}, {40, 1}}, // rows
                    Case{"copy8", 4, {31, 32}, {34, 1}, {40, 1}},  // rows 8 bytes apart
                    // begins between multiples of 16 bytes
                    Case{"copy4", 4, {31, 32}, {36, 1}, {40, 1}, false, 1},
                    Case{"copy4", 2, {3, 5, 32}, {320, 34, 1}, {1000, 40, 1}},
                    Case{"copy2", 2, {3, 33}, {33, 1}, {35, 1}}, Case{"copy1", 1, {33}, {2}, {1}},
                    Case{"copy8", 8, {31}, {3}, {2}}, Case{"copy4", 4, {}, {}, {}},
                    Case{"copy16", 8, {7, 32}, {0, 1}, {32, 1}}, // repeats a row
                    Case{"copy16", 4, {7, 32}, {32, 1}, {0, 1}}, // the last row stays
                    Case{"add4", 4, {31, 32}, {36, 1}, {40, 1}, true},
                    Case{"add1", 4, {31, 33}, {36, 1}, {40, 1}, true},
                    Case{"sum", 4, {7, 33}, {33, 1}, {0, 1}, true},
                    Case{"sum", 4, {5, 7, 3}, {21, 3, 1}, {0, 1, 0}, true},
                    Case{"transpose4", 4, {64, 48}, {48, 1}, {1, 64}},
                    Case{"transpose4", 4, {33, 31}, {31, 1}, {1, 33}},
                    Case{"transpose2", 2, {3, 65, 66}, {65 * 66, 66, 1}, {65 * 66, 1, 65}},
                    Case{"transpose1", 1, {65, 33}, {33, 1}, {1, 70}},
                    Case{"transpose8", 8, {32, 33}, {33, 1}, {1, 32}},
                    // Transposes [batch, tokens, heads, dim] to [batch, heads, dim, tokens].
                    Case{"transpose4", 4, {2, 33, 3, 4}, {396, 12, 4, 1}, {396, 1, 132, 33}},
                    Case{"transposeAdd", 4, {33, 65}, {65, 1}, {1, 33}, true}));

TEST(StridedCopyPlan, MovesNothingOfAnEmptyBox) {
  int64_t sizes[] = {3, 0}, strides[] = {1, 1};
  StridedCopyParams params;
  std::vector<Launch> launches;
  EXPECT_EQ(
      planStridedCopy({4, 2, sizes, strides, strides, false}, nullptr, nullptr, params, launches),
      "");
  EXPECT_TRUE(launches.empty());
}

TEST(StridedCopyPlan, SaysWhatItCannotDo) {
  int64_t sizes[] = {int64_t(1) << 45}, strides[] = {2};
  StridedCopyParams params;
  std::vector<Launch> launches;
  auto plan = [&](const CopyBox &box) {
    return planStridedCopy(box, nullptr, nullptr, params, launches);
  };
  EXPECT_EQ(plan({2, 1, sizes, strides, strides, true}),
            "strided copy: adds elements of 2 bytes, kernels add f32 alone");
  EXPECT_EQ(plan({3, 1, sizes, strides, strides, false}),
            "strided copy: elements of 3 bytes, kernels have 1, 2, 4 and 8");
  EXPECT_EQ(
      plan({4, 1, sizes, strides, strides, false}),
      "strided copy: kernel 'StridedCopy_copy4' needs 34359738368 blocks, a grid has 2147483647");
}

} // namespace
} // namespace dtc::cuda
