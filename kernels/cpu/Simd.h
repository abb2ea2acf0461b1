// Vectors of the instruction set that this file is compiled for (DTC_ISA = avx2 or avx512).
//
// Included only by the files that CMakeLists.txt compiles once per instruction set. Everything is
// in a namespace of that name, and nothing inline of the standard library is used, so that the
// linker never keeps an AVX-512 copy of a function that the rest of the program calls.
#pragma once

#include <cstdint>

#ifndef DTC_ISA
#error "compile through the per-instruction-set object libraries of kernels/cpu/CMakeLists.txt"
#endif

namespace dtc::cpu::DTC_ISA {

#ifdef __AVX512F__
inline constexpr int kLanes = 16;
#else
inline constexpr int kLanes = 8;
#endif

typedef float Vec __attribute__((vector_size(kLanes * 4)));
typedef float UnalignedVec __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef int32_t IntVec __attribute__((vector_size(kLanes * 4)));
typedef uint32_t UnsignedVec __attribute__((vector_size(kLanes * 4)));

// Loads a vector from any float address.
inline Vec load(const float *p) { return *reinterpret_cast<const UnalignedVec *>(p); }
// Stores a vector to any float address.
inline void store(float *p, Vec v) { *reinterpret_cast<UnalignedVec *>(p) = v; }

// Returns a vector of equal lanes. x - 0 is x for every x (x + 0 is not: -0), so this compiles to
// one broadcast.
inline Vec splat(float x) { return x - Vec{}; }
// Returns a vector of equal integers.
inline IntVec splatInt(int32_t x) { return x - IntVec{}; }

// Returns 0, 1, 2, ...
inline IntVec iota() {
  IntVec v;
  for (int i = 0; i < kLanes; ++i)
    v[i] = i;
  return v;
}

// Returns `yes` in lanes whose mask is all ones, `no` in lanes whose mask is 0.
inline Vec select(IntVec mask, Vec yes, Vec no) {
  return reinterpret_cast<Vec>((mask & reinterpret_cast<IntVec>(yes)) |
                               (~mask & reinterpret_cast<IntVec>(no)));
}

// Returns the larger lanes; `b` if one of both is NaN.
inline Vec maximum(Vec a, Vec b) { return a > b ? a : b; }

// Vectors for reduceLanes.
typedef float Vec8 __attribute__((vector_size(32)));
typedef float Vec4 __attribute__((vector_size(16)));

// Combines the lanes, halving the vector until one lane is left, so the order of a sum is fixed.
template <typename Combine> inline float reduceLanes(Vec v, const Combine &combine) {
#ifdef __AVX512F__
  Vec8 eight = combine(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                       __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
#else
  Vec8 eight = v;
#endif
  Vec4 four = combine(__builtin_shufflevector(eight, eight, 0, 1, 2, 3),
                      __builtin_shufflevector(eight, eight, 4, 5, 6, 7));
  Vec4 two = combine(four, __builtin_shufflevector(four, four, 2, 3, 2, 3));
  Vec4 one = combine(two, __builtin_shufflevector(two, two, 1, 1, 1, 1));
  return one[0];
}

// Returns the sum of the lanes.
inline float sumLanes(Vec v) {
  return reduceLanes(v, [](auto a, auto b) { return a + b; });
}

// Returns the largest lane.
inline float maxLanes(Vec v) {
  return reduceLanes(v, [](auto a, auto b) { return a > b ? a : b; });
}

// Returns 2^x for x <= 0 (or NaN), with a relative error below 2e-7; 0 below -126, -inf included. x
// = n + f with |f| <= 1/2; 2^f is a series of degree 6 (the remainder 1.2e-7 * 2^f at the ends is
// spread by the minimax coefficients below), times 2^n by adding n to the exponent.
inline Vec exp2NonPositive(Vec x) {
  const Vec rounder = splat(12582912.0f); // 1.5 * 2^23: adding it leaves the nearest integer
  Vec shifted = x + rounder;
  Vec f = x - (shifted - rounder);
  Vec p = splat(1.535336188319500e-4f);
  p = p * f + splat(1.339887440266574e-3f);
  p = p * f + splat(9.618437357674640e-3f);
  p = p * f + splat(5.550332471162809e-2f);
  p = p * f + splat(2.402264791363012e-1f);
  p = p * f + splat(6.931472028550421e-1f);
  p = p * f + splat(1.0f);
  // Unsigned, because it wraps for x below -126, whose results are replaced.
  UnsignedVec exponent = reinterpret_cast<UnsignedVec>(shifted) << 23;
  Vec result = reinterpret_cast<Vec>(reinterpret_cast<UnsignedVec>(p) + exponent);
  return select(x < splat(-126.0f), Vec{}, result);
}

// Returns tanh(x) with a relative error below 3e-7: below 0.625 by a series (Cephes 2.2, tanhf),
// and from there on by t = e^(-2|x|) as (1 - t) / (1 + t).
inline Vec tanh(Vec x) {
  Vec size = select(x < Vec{}, -x, x), square = x * x;
  Vec p = splat(-5.70498872745e-3f);
  p = p * square + splat(2.06390887954e-2f);
  p = p * square + splat(-5.37397155531e-2f);
  p = p * square + splat(1.33314422036e-1f);
  p = p * square + splat(-3.33332819422e-1f);
  Vec series = x + x * square * p;
  Vec t = exp2NonPositive(size * splat(-2.88539008177792681f)); // -2 log2(e)
  Vec quotient = (splat(1.0f) - t) / (splat(1.0f) + t);
  return select(size < splat(0.625f), series, select(x < Vec{}, -quotient, quotient));
}

// Transposes a kLanes x kLanes block held in vectors: rows[i][j] and rows[j][i] change places.
// At each distance d the off-diagonal d x d blocks are swapped by two-source shuffles.
#define DTC_LANE16(f, d)                                                                           \
  f(0, d), f(1, d), f(2, d), f(3, d), f(4, d), f(5, d), f(6, d), f(7, d), f(8, d), f(9, d),        \
      f(10, d), f(11, d), f(12, d), f(13, d), f(14, d), f(15, d)
#define DTC_LANE8(f, d) f(0, d), f(1, d), f(2, d), f(3, d), f(4, d), f(5, d), f(6, d), f(7, d)
#define DTC_LOW(i, d) (((i) & (d)) ? kLanes + (i) - (d) : (i))
#define DTC_HIGH(i, d) (((i) & (d)) ? kLanes + (i) : (i) + (d))
#ifdef __AVX512F__
#define DTC_LANES(f, d) DTC_LANE16(f, d)
#else
#define DTC_LANES(f, d) DTC_LANE8(f, d)
#endif

// Swaps the off-diagonal blocks at one distance.
template <int kDistance> inline void swapBlocks(Vec *rows) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if (i & kDistance)
      continue;
    Vec a = rows[i], b = rows[i + kDistance];
    rows[i] = __builtin_shufflevector(a, b, DTC_LANES(DTC_LOW, kDistance));
    rows[i + kDistance] = __builtin_shufflevector(a, b, DTC_LANES(DTC_HIGH, kDistance));
  }
}

// Transposes the block in place.
inline void transposeLanes(Vec *rows) {
#ifdef __AVX512F__
  swapBlocks<8>(rows);
#endif
  swapBlocks<4>(rows);
  swapBlocks<2>(rows);
  swapBlocks<1>(rows);
}

#undef DTC_LANE16
#undef DTC_LANE8
#undef DTC_LOW
#undef DTC_HIGH
#undef DTC_LANES

} // namespace dtc::cpu::DTC_ISA
