// Arithmetic of device code, as functions of words (Abi.h). What PTX gives as an approximation is
// computed in double and rounded once, which is within the error that the PTX ISA documents.
// tanh.approx keeps only the 11 bits that PTX promises.
#pragma once

#include "runtime/base/HalfFloats.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace dtc::simt::math {

// Returns the f32 with these bits.
inline float real(uint32_t word) { return std::bit_cast<float>(word); }
// Returns the bits of the f32.
inline uint32_t word(float value) { return std::bit_cast<uint32_t>(value); }

// Replaces numbers below 2^-126 by zeros of the same sign, as .ftz does.
inline float flush(float value) {
  return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}
inline float keep(float value) { return value; }
using Rounding = float (*)(float);

template <double (*function)(double), Rounding edge> uint32_t unary(uint32_t x) {
  return word(edge(static_cast<float>(function(static_cast<double>(edge(real(x)))))));
}
template <double (*function)(double, double), Rounding edge>
uint32_t binary(uint32_t x, uint32_t y) {
  return word(edge(static_cast<float>(
      function(static_cast<double>(edge(real(x))), static_cast<double>(edge(real(y)))))));
}
// Returns x * y + z, rounded once.
template <Rounding edge> uint32_t fusedMultiplyAdd(uint32_t x, uint32_t y, uint32_t z) {
  return word(edge(std::fma(edge(real(x)), edge(real(y)), edge(real(z)))));
}

// Returns 2 to the power of x.
inline double exp2(double x) { return std::exp2(x); }
// Returns the logarithm of x to the base 2.
inline double log2(double x) { return std::log2(x); }
// Returns the sine of x in radians.
inline double sine(double x) { return std::sin(x); }
// Returns the cosine of x in radians.
inline double cosine(double x) { return std::cos(x); }
// Returns the square root of x.
inline double squareRoot(double x) { return std::sqrt(x); }
// Returns 1 / sqrt(x).
inline double reciprocalRoot(double x) { return 1 / std::sqrt(x); }
// Returns 1 / x.
inline double reciprocal(double x) { return 1 / x; }
// Returns x without its sign.
inline double absolute(double x) { return std::fabs(x); }
// Returns the largest whole number that is not above x.
inline double down(double x) { return std::floor(x); }
// Returns the smallest whole number that is not below x.
inline double up(double x) { return std::ceil(x); }
// Returns the nearest whole number, the even one of two equally near ones.
inline double nearest(double x) { return std::nearbyint(x); }
// Returns x without its fraction.
inline double cut(double x) { return std::trunc(x); }
// clamps to 0 to 1; NaN gives 0
inline double saturate(double x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
// Returns x + y.
inline double sum(double x, double y) { return x + y; }
// Returns x * y.
inline double product(double x, double y) { return x * y; }
// Returns x / y.
inline double quotient(double x, double y) { return x / y; }
// Returns the smaller number, and the other one if one is NaN.
inline double smaller(double x, double y) { return std::fmin(x, y); }
// Returns the larger number, and the other one if one is NaN.
inline double larger(double x, double y) { return std::fmax(x, y); }
// Returns the smaller number, or NaN if one is NaN.
inline double smallerOrNan(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? NAN : std::fmin(x, y);
}
// Returns the larger number, or NaN if one is NaN.
inline double largerOrNan(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? NAN : std::fmax(x, y);
}

// Returns tanh(x) with the lower 12 bits of the f32 rounded away.
inline uint32_t tanhApprox(uint32_t x) {
  uint32_t exact = word(static_cast<float>(std::tanh(static_cast<double>(real(x)))));
  return std::isnan(real(x)) ? 0x7fffffff : (exact + 0x800) & ~0xfffu;
}

// Rounds to bf16, to the nearest and ties to even. Every NaN becomes the NaN of PTX.
inline uint32_t toBf16(uint32_t x) { return std::isnan(real(x)) ? 0x7fff : rt::toBf16(real(x)); }
// Rounds to f16, to the nearest and ties to even. Every NaN becomes the NaN of PTX.
inline uint32_t toF16(uint32_t x) { return std::isnan(real(x)) ? 0x7fff : rt::toF16(real(x)); }
// Returns the f32 of the bf16 in the lower 16 bits.
inline uint32_t fromBf16(uint32_t x) { return x << 16; }
// Returns the f32 of the f16 in the lower 16 bits.
inline uint32_t fromF16(uint32_t x) { return word(rt::fromF16(static_cast<uint16_t>(x))); }
// Rounds two f32 to bf16 and packs them into one word.
inline uint32_t toBf16Pair(uint32_t upper, uint32_t lower) {
  return toBf16(upper) << 16 | toBf16(lower);
}
// Rounds two f32 to f16 and packs them into one word.
inline uint32_t toF16Pair(uint32_t upper, uint32_t lower) {
  return toF16(upper) << 16 | toF16(lower);
}
// Rounds to tf32, which has 10 bits behind the point: to the nearest, and ties away from zero.
inline uint32_t toTf32(uint32_t x) { return std::isfinite(real(x)) ? (x + 0x1000) & ~0x1fffu : x; }

// Returns four bytes of `y:x`, each chosen by a nibble of `selector`. If the top bit of a nibble is
// set, all bits of the byte become its sign.
inline uint32_t permuteBytes(uint32_t x, uint32_t y, uint32_t selector) {
  uint64_t both = uint64_t{y} << 32 | x;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t nibble = selector >> 4 * i & 15;
    auto byte = static_cast<uint32_t>(both >> 8 * (nibble & 7) & 0xff);
    if (nibble & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}

// Returns the upper 32 bits of the product of two signed numbers.
inline uint32_t upperSigned(uint32_t x, uint32_t y) {
  return static_cast<uint32_t>(int64_t{static_cast<int32_t>(x)} * static_cast<int32_t>(y) >> 32);
}
// Returns the upper 32 bits of the product of two unsigned numbers.
inline uint32_t upperUnsigned(uint32_t x, uint32_t y) {
  return static_cast<uint32_t>(uint64_t{x} * y >> 32);
}
// Returns the upper 64 bits of the product of two unsigned numbers.
inline uint64_t upperUnsignedLong(uint64_t x, uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(x) * y >> 64);
}

// Converts an f32 to a 32-bit integer. A number out of range gives the nearest integer, NaN gives
// 0.
template <double (*toWhole)(double)> uint32_t toSigned(uint32_t x) {
  double whole = toWhole(static_cast<double>(real(x)));
  return std::isnan(whole) ? 0
                           : static_cast<uint32_t>(static_cast<int32_t>(
                                 std::fmax(-0x1p31, std::fmin(whole, 0x1p31 - 1))));
}
template <double (*toWhole)(double)> uint32_t toUnsigned(uint32_t x) {
  double whole = toWhole(static_cast<double>(real(x)));
  return std::isnan(whole) ? 0 : static_cast<uint32_t>(std::fmax(0, std::fmin(whole, 0x1p32 - 1)));
}
// Returns the f32 nearest to a signed number.
inline uint32_t fromSigned(uint32_t x) { return word(static_cast<float>(static_cast<int32_t>(x))); }
// Returns the f32 nearest to an unsigned number.
inline uint32_t fromUnsigned(uint32_t x) { return word(static_cast<float>(x)); }

} // namespace dtc::simt::math
