// Conversion between f32 and 16-bit floats, by one instruction set.
//
// bf16 is the upper half of an f32. Rounds to nearest, ties to even; NaN stays NaN, quiet, with the
// sign and the upper bits of its payload. Cost: 6 bytes per element: bandwidth-bound.
#include "kernels/cpu/NarrowFloats.h"

#include "kernels/cpu/IsaTables.h"

#include <immintrin.h>

namespace dtc::cpu::DTC_ISA {

namespace {

void widenBf16(const uint16_t *from, float *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = static_cast<uint32_t>(from[i]) << 16;
    __builtin_memcpy(to + i, &bits, sizeof(bits));
  }
}

void narrowBf16(const float *from, uint16_t *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, from + i, sizeof(bits));
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
    to[i] = static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
  }
}

constexpr int kHalves = 8; // numbers per conversion

void widenF16(const uint16_t *from, float *to, int64_t count) {
  int64_t i = 0;
  for (; i + kHalves <= count; i += kHalves)
    _mm256_storeu_ps(to + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i))));
  for (; i < count; ++i)
    to[i] = _cvtsh_ss(from[i]);
}

void narrowF16(const float *from, uint16_t *to, int64_t count) {
  int64_t i = 0;
  for (; i + kHalves <= count; i += kHalves)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < count; ++i)
    to[i] = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
}

} // namespace

void widen(ElementType type, const void *from, float *to, int64_t count) {
  switch (type) {
  case ElementType::F32:
    __builtin_memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    return;
  case ElementType::BF16:
    return widenBf16(static_cast<const uint16_t *>(from), to, count);
  case ElementType::F16:
    return widenF16(static_cast<const uint16_t *>(from), to, count);
  }
}

void narrow(ElementType type, const float *from, void *to, int64_t count) {
  switch (type) {
  case ElementType::F32:
    __builtin_memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    return;
  case ElementType::BF16:
    return narrowBf16(from, static_cast<uint16_t *>(to), count);
  case ElementType::F16:
    return narrowF16(from, static_cast<uint16_t *>(to), count);
  }
}

} // namespace dtc::cpu::DTC_ISA
