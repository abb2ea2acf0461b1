#include "kernels/cpu/StridedCopy.h"
#include "test/unit/kernels/KernelsTestSupport.h"

#include <numeric>

namespace dtc::cpu {
namespace {

using namespace test;

// Copies element by element, by the definition.
template <typename T>
void referenceCopy(const T *src, T *dst, const std::vector<int64_t> &sizes,
                   const std::vector<int64_t> &srcStrides, const std::vector<int64_t> &dstStrides,
                   bool accumulate) {
  int64_t total = 1;
  for (int64_t size : sizes)
    total *= size;
  for (int64_t index = 0; index < total; ++index) {
    int64_t rest = index, from = 0, to = 0;
    for (size_t dim = sizes.size(); dim-- > 0; rest /= sizes[dim]) {
      from += rest % sizes[dim] * srcStrides[dim];
      to += rest % sizes[dim] * dstStrides[dim];
    }
    dst[to] = accumulate ? static_cast<T>(dst[to] + src[from]) : src[from];
  }
}

std::vector<int64_t> rowMajor(const std::vector<int64_t> &sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

int64_t product(const std::vector<int64_t> &sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

template <typename T>
void expectPermutes(const std::vector<int64_t> &sizes, const std::vector<size_t> &order,
                    bool accumulate = false) {
  // dst is a dense tensor of the permuted sizes. Sizes and strides are given in the order of src.
  std::vector<int64_t> srcStrides = rowMajor(sizes), permuted, dstStrides(sizes.size());
  for (size_t dim : order)
    permuted.push_back(sizes[dim]);
  std::vector<int64_t> dense = rowMajor(permuted);
  for (size_t i = 0; i < order.size(); ++i)
    dstStrides[order[i]] = dense[i];
  std::vector<T> src(product(sizes)), before(src.size());
  for (size_t i = 0; i < src.size(); ++i)
    src[i] = static_cast<T>(i * 7 + 3), before[i] = static_cast<T>(i + 1);
  std::vector<T> wanted = before;
  referenceCopy(src.data(), wanted.data(), sizes, srcStrides, dstStrides, accumulate);
  for (int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    std::vector<T> found = before;
    stridedCopy({src.data(), found.data(), sizeof(T), static_cast<int>(sizes.size()), sizes.data(),
                 srcStrides.data(), dstStrides.data(), accumulate},
                pool);
    ASSERT_EQ(found, wanted) << sizeof(T) << " bytes, " << sizes.size() << " dims";
  }
}

TEST(StridedCopy, TransposesEdgeSizes) {
  for (int64_t rows : {1, 2, 31, 32, 33, 127, 1000})
    for (int64_t columns : {1, 16, 31, 33, 200}) {
      expectPermutes<float>({rows, columns}, {1, 0});
      expectPermutes<float>({rows, columns}, {1, 0}, true);
      expectPermutes<uint8_t>({rows, columns}, {1, 0});
      expectPermutes<uint16_t>({rows, columns}, {1, 0});
      expectPermutes<double>({rows, columns}, {1, 0});
    }
}

TEST(StridedCopy, TransposesUnderEveryInstructionSet) {
  forEachIsa([] {
    expectPermutes<float>({100, 77}, {1, 0});
    expectPermutes<float>({256, 300}, {1, 0}); // rows of dst 1024 bytes apart
    expectPermutes<float>({512, 140}, {1, 0}, true);
  });
}

TEST(StridedCopy, PermutesManyDims) {
  expectPermutes<float>({3, 5, 7, 11}, {0, 2, 1, 3});
  expectPermutes<float>({3, 5, 7, 11}, {3, 1, 0, 2});
  expectPermutes<float>({3, 5, 7, 11}, {2, 3, 0, 1}, true);
  expectPermutes<float>({2, 37, 4, 65}, {0, 2, 3, 1});
  expectPermutes<uint16_t>({2, 1, 3, 1, 2, 3, 1, 2, 2, 1, 2, 3},
                           {11, 3, 5, 7, 9, 1, 0, 2, 4, 6, 8, 10});
}

TEST(StridedCopy, JoinsAndCopiesPlainTensors) {
  expectPermutes<float>({64, 33, 129}, {0, 1, 2}); // 1.1 MB, which is split among threads
  expectPermutes<float>({64, 33, 129}, {0, 1, 2}, true);
  expectPermutes<uint8_t>({400000}, {0});
}

TEST(StridedCopy, CopiesABoxOfALargerTensor) {
  ThreadPool pool(2);
  const std::vector<int64_t> sizes = {3, 5, 6}, srcStrides = {200, 20, 1}, dstStrides = {30, 6, 1};
  auto src = randomFloats(600, 1);
  std::vector<float> found(90, -1), wanted(90, -1);
  StridedCopyArgs args{src.data() + 7,    found.data(),     4, 3, sizes.data(),
                       srcStrides.data(), dstStrides.data()};
  stridedCopy(args, pool);
  referenceCopy(src.data() + 7, wanted.data(), sizes, srcStrides, dstStrides, false);
  EXPECT_EQ(found, wanted);
}

TEST(StridedCopy, RepeatsAndReversesBySourceStrides) {
  ThreadPool pool(2);
  auto src = randomFloats(10, 1);
  const std::vector<int64_t> sizes = {4, 10}, dstStrides = {10, 1};
  for (int64_t last : {0, 9}) {
    const std::vector<int64_t> srcStrides = {0, last == 0 ? 1 : -1};
    std::vector<float> found(40), wanted(40);
    stridedCopy(
        {src.data() + last, found.data(), 4, 2, sizes.data(), srcStrides.data(), dstStrides.data()},
        pool);
    referenceCopy(src.data() + last, wanted.data(), sizes, srcStrides, dstStrides, false);
    EXPECT_EQ(found, wanted);
  }
}

TEST(StridedCopy, SumsIntoARepeatedElement) {
  ThreadPool pool(3);
  const int64_t count = 100000;
  const std::vector<int64_t> sizes = {count}, one = {1}, zero = {0};
  std::vector<float> src(count, 1), found = {5};
  stridedCopy({src.data(), found.data(), 4, 1, sizes.data(), one.data(), zero.data(), true}, pool);
  EXPECT_EQ(found[0], 100005);
}

TEST(StridedCopy, TakesScalarsAndZeroSizes) {
  ThreadPool pool(2);
  float src = 3, dst = 4;
  stridedCopy({&src, &dst, 4, 0, nullptr, nullptr, nullptr, true}, pool);
  EXPECT_EQ(dst, 7);
  const int64_t sizes[] = {5, 0}, strides[] = {1, 1};
  stridedCopy({&src, &dst, 4, 2, sizes, strides, strides}, pool);
  EXPECT_EQ(dst, 7);
}

} // namespace
} // namespace dtc::cpu
