// Arithmetic of device code: functions of words (Abi.h). What PTX gives as an approximation is computed in double and
// rounded once, which is within the error that the PTX ISA documents; tanh.approx keeps only the 11 bits that it promises.
#pragma once

#include "runtime/base/HalfFloats.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace dtc::simt::math {

inline float real(uint32_t word) { return std::bit_cast<float>(word); }
inline uint32_t word(float value) { return std::bit_cast<uint32_t>(value); }

// Numbers below 2^-126 are zeros, as with .ftz.
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
template <Rounding edge> uint32_t fusedMultiplyAdd(uint32_t x, uint32_t y, uint32_t z) {
  return word(edge(std::fma(edge(real(x)), edge(real(y)), edge(real(z)))));
}

inline double exp2(double x) { return std::exp2(x); }
inline double log2(double x) { return std::log2(x); }
inline double sine(double x) { return std::sin(x); }
inline double cosine(double x) { return std::cos(x); }
inline double squareRoot(double x) { return std::sqrt(x); }
inline double reciprocalRoot(double x) { return 1 / std::sqrt(x); }
inline double reciprocal(double x) { return 1 / x; }
inline double absolute(double x) { return std::fabs(x); }
inline double down(double x) { return std::floor(x); }
inline double up(double x) { return std::ceil(x); }
inline double nearest(double x) { return std::nearbyint(x); }
inline double cut(double x) { return std::trunc(x); }
inline double saturate(double x) { return x > 0 ? (x < 1 ? x : 1) : 0; } // NaN gives 0
inline double sum(double x, double y) { return x + y; }
inline double product(double x, double y) { return x * y; }
inline double quotient(double x, double y) { return x / y; }
inline double smaller(double x, double y) { return std::fmin(x, y); }
inline double larger(double x, double y) { return std::fmax(x, y); }
inline double smallerOrNan(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? NAN : std::fmin(x, y);
}
inline double largerOrNan(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? NAN : std::fmax(x, y);
}

inline uint32_t tanhApprox(uint32_t x) {
  uint32_t exact = word(static_cast<float>(std::tanh(static_cast<double>(real(x)))));
  return std::isnan(real(x)) ? 0x7fffffff : (exact + 0x800) & ~0xfffu;
}

// To nearest, ties to even; every NaN becomes the one of PTX.
inline uint32_t toBf16(uint32_t x) { return std::isnan(real(x)) ? 0x7fff : rt::toBf16(real(x)); }
inline uint32_t toF16(uint32_t x) { return std::isnan(real(x)) ? 0x7fff : rt::toF16(real(x)); }
inline uint32_t fromBf16(uint32_t x) { return x << 16; }
inline uint32_t fromF16(uint32_t x) { return word(rt::fromF16(static_cast<uint16_t>(x))); }
inline uint32_t toBf16Pair(uint32_t upper, uint32_t lower) {
  return toBf16(upper) << 16 | toBf16(lower);
}
inline uint32_t toF16Pair(uint32_t upper, uint32_t lower) {
  return toF16(upper) << 16 | toF16(lower);
}
// To nearest, ties away from zero, 10 bits behind the point.
inline uint32_t toTf32(uint32_t x) { return std::isfinite(real(x)) ? (x + 0x1000) & ~0x1fffu : x; }

// Bytes of `y:x`, chosen by the nibbles of `selector`; the top bit of a nibble spreads the byte's sign.
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

inline uint32_t upperSigned(uint32_t x, uint32_t y) {
  return static_cast<uint32_t>(int64_t{static_cast<int32_t>(x)} * static_cast<int32_t>(y) >> 32);
}
inline uint32_t upperUnsigned(uint32_t x, uint32_t y) {
  return static_cast<uint32_t>(uint64_t{x} * y >> 32);
}
inline uint64_t upperUnsignedLong(uint64_t x, uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(x) * y >> 64);
}

// Out of range gives the nearest number, NaN 0.
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
inline uint32_t fromSigned(uint32_t x) { return word(static_cast<float>(static_cast<int32_t>(x))); }
inline uint32_t fromUnsigned(uint32_t x) { return word(static_cast<float>(x)); }

} // namespace dtc::simt::math
