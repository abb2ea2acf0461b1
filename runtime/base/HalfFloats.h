// Conversions between bf16, f16 and f32 for code without the kernels: files, messages. Rounds to
// nearest, ties to even; NaN stays NaN. Loops over them become vector code.
//
// Example: toBf16(1.00390625f) is 0x3f80, halfway and even; fromF16(0x0001) is 2^-24.
#pragma once

#include <bit>
#include <cstdint>

namespace dtc::rt {

// Converts bf16, which is the upper half of an f32.
inline float fromBf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Converts to bf16.
inline uint16_t toBf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

// Converts f16: sign, 5 bits of exponent, 10 of mantissa. Placed in the lower bits of an f32's
// exponent and the upper ones of its mantissa, these are a number 2^112 too small, denormals
// included.
inline float fromF16(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, size = bits & 0x7fff;
  uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(size << 13) * 0x1p112f); // exact
  uint32_t special = 0x7f800000 | size << 13;
  return std::bit_cast<float>(sign | (size >= 0x7c00 ? special : finite));
}

// Converts to f16; infinity above 65504 after rounding.
inline uint16_t toF16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  // Takes 15 - 127 off the exponent; values rounded up past 65504 carry into the exponent of
  // infinity.
  uint32_t normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
  // The sum with 1/2 has its last bit at 2^-24, that of denormals.
  uint32_t denormal = std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000;
  uint32_t finite = size < 0x38800000 ? denormal : normal; // 2^-14
  uint32_t special = size > 0x7f800000 ? 0x7e00 : 0x7c00;
  return static_cast<uint16_t>(sign | (size >= 0x47800000 ? special : finite)); // 2^16
}

} // namespace dtc::rt
