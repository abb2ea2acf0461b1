#include "runtime/checkpoint/Elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace dtc::rt {
namespace {

template <typename T> std::vector<T> encoded(format::DType type, std::vector<float> values) {
  std::vector<std::byte> bytes = encode(type, values);
  std::vector<T> elements(bytes.size() / sizeof(T));
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

TEST(Elements, KeepsFloats) {
  EXPECT_EQ(encoded<float>(format::DType::f32, {1.5f, -inf}), (std::vector<float>{1.5f, -inf}));
}

// 1 + 2^-8 is between two bfloats, of which 1 is even; 1 + 3 * 2^-8 is rounded up.
TEST(Elements, RoundsToBfloat) {
  EXPECT_EQ(
      encoded<uint16_t>(format::DType::bf16,
                        {1, -2, 1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 1 + 0x1.1p-8f, inf, 3.4e38f, nan}),
      (std::vector<uint16_t>{0x3f80, 0xc000, 0x3f80, 0x3f82, 0x3f81, 0x7f80, 0x7f80, 0x7fc0}));
}

TEST(Elements, RoundsToHalf) {
  EXPECT_EQ(encoded<uint16_t>(format::DType::f16, {1, -2, 65504, 65519, 65520, -inf, 0x1p-14f,
                                                   0x1p-24f, 0x1p-25f, 0x1.8p-25f, 1 + 0x1p-11f,
                                                   1 + 3 * 0x1p-11f, 2 - 0x1p-12f, -0.0f, nan}),
            (std::vector<uint16_t>{0x3c00, 0xc000, 0x7bff, 0x7bff, 0x7c00, 0xfc00, 0x0400, 1, 0, 1,
                                   0x3c00, 0x3c02, 0x4000, 0x8000, 0x7e00}));
}

TEST(Elements, CutsIntegersAtTheirEnds) {
  EXPECT_EQ(encoded<int32_t>(format::DType::i32, {7.9f, -7.9f, 3e9f, -inf, nan}),
            (std::vector<int32_t>{7, -7, 2147483647, -2147483647 - 1, 0}));
  EXPECT_EQ(encoded<int64_t>(format::DType::i64, {65536, 1e30f}),
            (std::vector<int64_t>{65536, std::numeric_limits<int64_t>::max()}));
  EXPECT_EQ(encoded<uint8_t>(format::DType::u8, {255, 256, -1}),
            (std::vector<uint8_t>{255, 255, 0}));
}

template <typename T> std::vector<float> decoded(format::DType type, const std::vector<T> &from) {
  std::vector<float> values(from.size());
  decode(type, std::as_bytes(std::span(from)), values);
  return values;
}

TEST(Elements, ReadsEveryType) {
  EXPECT_EQ(decoded<float>(format::DType::f32, {1.5f, -2}), (std::vector<float>{1.5f, -2}));
  EXPECT_EQ(decoded<uint16_t>(format::DType::bf16, {0x3f80, 0xc000}), (std::vector<float>{1, -2}));
  EXPECT_EQ(decoded<uint16_t>(format::DType::f16, {0x3c00, 0xc000}), (std::vector<float>{1, -2}));
  EXPECT_EQ(decoded<int32_t>(format::DType::i32, {7, -7}), (std::vector<float>{7, -7}));
  EXPECT_EQ(decoded<int64_t>(format::DType::i64, {65536, -1}), (std::vector<float>{65536, -1}));
  EXPECT_EQ(decoded<uint8_t>(format::DType::u8, {255, 0}), (std::vector<float>{255, 0}));
}

} // namespace
} // namespace dtc::rt
