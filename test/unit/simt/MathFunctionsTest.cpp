// Compares arithmetic with its definition: rounding bit by bit, approximations within the error
// that the PTX ISA documents.
#include "runtime/simt/MathFunctions.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace dtc::simt;

namespace {

// Returns numbers of all magnitudes, and the special ones.
std::vector<float> numbers() {
  std::vector<float> all = {0.0f, -0.0f,     1.0f,      -1.0f,    INFINITY, -INFINITY,
                            NAN,  0x1p-126f, 0x1p-140f, 65504.0f, 65520.0f};
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i)
    all.push_back(math::real(static_cast<uint32_t>(random())));
  return all;
}

// The result must be the nearest number of 16 bits. Neighbours differ by `step` in words of 32
// bits.
TEST(Conversions, RoundToNearestEvenBf16) {
  for (float x : numbers()) {
    uint32_t bits = math::toBf16(math::word(x));
    if (std::isnan(x)) {
      EXPECT_EQ(bits, 0x7fffu);
      continue;
    }
    double value = static_cast<double>(math::real(bits << 16));
    double down = static_cast<double>(math::real((bits - 1) << 16)),
           up = static_cast<double>(math::real((bits + 1) << 16));
    if (!std::isfinite(value) || !std::isfinite(up) || !std::isfinite(down) || std::isnan(down) ||
        (bits & 0x7fff) == 0)
      continue;
    double error = std::fabs(value - static_cast<double>(x));
    EXPECT_LE(error, std::fabs(down - static_cast<double>(x))) << x;
    EXPECT_LE(error, std::fabs(up - static_cast<double>(x))) << x;
    if (error == std::fabs(down - static_cast<double>(x)) ||
        error == std::fabs(up - static_cast<double>(x))) {
      EXPECT_EQ(error == 0 ? 0 : bits & 1, 0u) << x;
    }
  }
  EXPECT_EQ(math::toBf16(0x3f808000), 0x3f80u);
  EXPECT_EQ(math::toBf16(0x3f818000), 0x3f82u);
  EXPECT_EQ(math::toBf16(0x7f7fffff), 0x7f80u);
}

TEST(Conversions, RoundToNearestEvenF16) {
  EXPECT_EQ(math::toF16(math::word(1.0f)), 0x3c00u);
  EXPECT_EQ(math::toF16(math::word(65519.0f)), 0x7bffu);
  EXPECT_EQ(math::toF16(math::word(65520.0f)), 0x7c00u);
  EXPECT_EQ(math::toF16(math::word(1.00048828125f)), 0x3c00u); // halfway to 0x3c01
  EXPECT_EQ(math::toF16(math::word(1.00146484375f)), 0x3c02u); // halfway from 0x3c01
  EXPECT_EQ(math::toF16(math::word(0x1p-25f)), 0u);
  EXPECT_EQ(math::toF16(math::word(0x1.8p-25f)), 1u);
  EXPECT_EQ(math::toF16(0x7fc00000), 0x7fffu);
  for (uint32_t bits = 0; bits < 0x7c00; ++bits)
    EXPECT_EQ(math::toF16(math::fromF16(bits)), bits);
}

TEST(Conversions, PutTheFirstOperandIntoTheUpperHalf) {
  EXPECT_EQ(math::toBf16Pair(math::word(1.0f), math::word(2.0f)), 0x3f804000u);
  EXPECT_EQ(math::toF16Pair(math::word(1.0f), math::word(2.0f)), 0x3c004000u);
}

TEST(Conversions, RoundToTf32AwayFromZero) {
  EXPECT_EQ(math::toTf32(0x3f801000), 0x3f802000u);
  EXPECT_EQ(math::toTf32(0xbf801000), 0xbf802000u);
  EXPECT_EQ(math::toTf32(0x3f800fff), 0x3f800000u);
  EXPECT_EQ(math::toTf32(0x7f800000), 0x7f800000u);
}

TEST(Conversions, ClampIntegers) {
  EXPECT_EQ(math::toSigned<math::nearest>(math::word(2.5f)), 2u);
  EXPECT_EQ(math::toSigned<math::cut>(math::word(-2.9f)), static_cast<uint32_t>(-2));
  EXPECT_EQ(math::toSigned<math::down>(math::word(-2.1f)), static_cast<uint32_t>(-3));
  EXPECT_EQ(math::toSigned<math::up>(math::word(2.1f)), 3u);
  EXPECT_EQ(math::toSigned<math::cut>(math::word(1e20f)), 0x7fffffffu);
  EXPECT_EQ(math::toSigned<math::cut>(math::word(-1e20f)), 0x80000000u);
  EXPECT_EQ(math::toUnsigned<math::cut>(math::word(-1.0f)), 0u);
  EXPECT_EQ(math::toUnsigned<math::cut>(math::word(1e20f)), 0xffffffffu);
  EXPECT_EQ(math::toSigned<math::cut>(0x7fc00000), 0u);
}

double relative(uint32_t got, double wanted) {
  return std::fabs(static_cast<double>(math::real(got)) / wanted - 1);
}

TEST(Approximations, StayWithinTheDocumentedError) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> near(-20, 20), positive(1e-6f, 1e6f);
  for (int i = 0; i < 20000; ++i) {
    float x = near(random), y = positive(random);
    auto wide = static_cast<double>(x), high = static_cast<double>(y);
    EXPECT_LE(relative(math::unary<math::exp2, math::flush>(math::word(x)), std::exp2(wide)),
              0x1p-22); // 2 ulp
    EXPECT_LE(
        relative(math::unary<math::reciprocalRoot, math::keep>(math::word(y)), 1 / std::sqrt(high)),
        0x1p-22);
    EXPECT_LE(relative(math::unary<math::reciprocal, math::keep>(math::word(y)), 1 / high),
              0x1p-23);
    EXPECT_LE(relative(math::tanhApprox(math::word(x)), std::tanh(wide)), 0x1p-11);
    EXPECT_LE(std::fabs(static_cast<double>(
                            math::real(math::unary<math::log2, math::keep>(math::word(y)))) -
                        std::log2(high)),
              std::max(0x1p-22, std::fabs(std::log2(high)) * 0x1p-22));
  }
}

// The table of special values is in the PTX ISA.
TEST(Approximations, TreatSpecialValuesAsThePtxIsaSays) {
  auto ex2 = math::unary<math::exp2, math::flush>;
  EXPECT_EQ(ex2(math::word(-INFINITY)), 0u);
  EXPECT_EQ(ex2(math::word(INFINITY)), math::word(INFINITY));
  EXPECT_EQ(ex2(math::word(0x1p-130f)), math::word(1.0f));
  EXPECT_EQ(ex2(math::word(-130.0f)), 0u) << "a denormal result is 0";
  EXPECT_NE((math::unary<math::exp2, math::keep>(math::word(-130.0f))), 0u);
  auto rsqrt = math::unary<math::reciprocalRoot, math::flush>;
  EXPECT_EQ(rsqrt(0), math::word(INFINITY));
  EXPECT_EQ(rsqrt(math::word(0x1p-130f)), math::word(INFINITY));
  EXPECT_TRUE(std::isnan(math::real(rsqrt(math::word(-1.0f)))));
  EXPECT_EQ(math::tanhApprox(math::word(INFINITY)), math::word(1.0f));
  EXPECT_EQ(math::tanhApprox(math::word(-0.0f)), math::word(-0.0f));
  EXPECT_TRUE(std::isnan(math::real(math::tanhApprox(math::word(NAN)))));
  auto saturate = math::unary<math::saturate, math::keep>;
  EXPECT_EQ(saturate(math::word(NAN)), 0u);
  EXPECT_EQ(saturate(math::word(2.0f)), math::word(1.0f));
  EXPECT_EQ((math::binary<math::larger, math::keep>(math::word(NAN), math::word(2.0f))),
            math::word(2.0f));
  EXPECT_TRUE(std::isnan(
      math::real(math::binary<math::largerOrNan, math::keep>(math::word(NAN), math::word(2.0f)))));
}

TEST(Bits, ArePickedBytewise) {
  EXPECT_EQ(math::permuteBytes(0x33221100, 0x77665544, 0x5410), 0x55441100u);
  EXPECT_EQ(math::permuteBytes(0x33221180, 0x77665544, 0x0008), 0x808080ffu);
  EXPECT_EQ(math::upperSigned(static_cast<uint32_t>(-2), 3), 0xffffffffu);
  EXPECT_EQ(math::upperUnsigned(0x80000000, 4), 2u);
  EXPECT_EQ(math::upperUnsignedLong(uint64_t{1} << 63, 6), 3u);
}

} // namespace
