// Replacements of CUDA C++'s device functions for clang alone, without the CUDA toolkit and its
// headers.
//
// Compiled with -x cuda --cuda-device-only -nocudainc -nocudalib. Every function is a clang builtin
// or one PTX instruction, so that passes/simt can run the same LLVM IR on a CPU.
#pragma once

#include <stdint.h>

#define DTC_DEVICE __attribute__((device)) inline __attribute__((always_inline))
#define DTC_SHARED __attribute__((shared))
// Declares a kernel of blocks of at most `threads`, of which `blocks` should fit on a
// multiprocessor.
#define DTC_KERNEL(threads, blocks)                                                                \
  extern "C" __attribute__((global)) __attribute__((launch_bounds(threads, blocks))) void

// Shared memory whose size is given at launch.
extern __attribute__((shared, aligned(16))) char dtcDynamicShared[];

namespace dtc::cuda {

inline constexpr uint32_t kWarp = 32, kAllLanes = 0xFFFFFFFFu;
inline constexpr float kInfinity = __builtin_inff();
inline constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

// Returns the thread's x index in its block.
DTC_DEVICE uint32_t threadIndex() { return __nvvm_read_ptx_sreg_tid_x(); }
// Returns the block's x index in the grid.
DTC_DEVICE uint32_t blockIndex() { return __nvvm_read_ptx_sreg_ctaid_x(); }
// Returns the block's y index in the grid.
DTC_DEVICE uint32_t blockIndexY() { return __nvvm_read_ptx_sreg_ctaid_y(); }
// Returns the number of blocks along x.
DTC_DEVICE uint32_t numBlocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }
// Waits for all threads of the block; makes their writes visible.
DTC_DEVICE void blockBarrier() { __syncthreads(); }
// Waits for all threads of the warp; makes their writes visible.
DTC_DEVICE void warpBarrier() { __nvvm_bar_warp_sync(kAllLanes); }

// Returns the smaller value.
template <typename T> DTC_DEVICE T least(T a, T b) { return a < b ? a : b; }
// Returns the larger value.
template <typename T> DTC_DEVICE T greatest(T a, T b) { return a > b ? a : b; }
// Returns the larger number; the other one if one is NaN.
DTC_DEVICE float maximum(float a, float b) { return __builtin_fmaxf(a, b); }

// Returns the value of the lane whose number differs by xor with `lanes`.
DTC_DEVICE float shuffleXor(float value, int lanes) {
  return __nvvm_shfl_sync_bfly_f32(kAllLanes, value, lanes, 31);
}
// Returns the value of the lane that is `lanes` lower.
DTC_DEVICE int shuffleUp(int value, int lanes) {
  return __nvvm_shfl_sync_up_i32(kAllLanes, value, lanes, 0);
}
// Returns the mask of the lanes whose value is true.
DTC_DEVICE uint32_t ballot(bool value) { return __nvvm_vote_ballot_sync(kAllLanes, value); }

// Returns the sum over groups of `lanes` neighbours, a power of two.
template <int lanes> DTC_DEVICE float sumOver(float value) {
#pragma unroll
  for (int i = lanes / 2; i > 0; i /= 2)
    value += shuffleXor(value, i);
  return value;
}
// Returns the maximum over groups of `lanes` neighbours, a power of two.
template <int lanes> DTC_DEVICE float maximumOver(float value) {
#pragma unroll
  for (int i = lanes / 2; i > 0; i /= 2)
    value = maximum(value, shuffleXor(value, i));
  return value;
}

// Returns an approximation of 2^x; subnormal results become 0.
DTC_DEVICE float exp2Approximate(float x) { return __nvvm_ex2_approx_ftz_f(x); }
// Returns an approximation of log2(x).
DTC_DEVICE float log2Approximate(float x) { return __nvvm_lg2_approx_ftz_f(x); }

// Returns tanh(x): below 0.625 by a series (Cephes 2.2, tanhf), so that small results are right to
// the last bits, and from there on by t = e^(-2|x|) as (1 - t) / (1 + t).
DTC_DEVICE float hyperbolicTangent(float x) {
  float size = x < 0 ? -x : x, square = x * x;
  float p = -5.70498872745e-3f;
  p = p * square + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  float t = exp2Approximate(-2 * kLog2E * size), quotient = (1 - t) / (1 + t);
  return size < 0.625f ? x + x * square * p : (x < 0 ? -quotient : quotient);
}

// Narrow numbers as memory holds them.
struct BFloat16 {
  __bf16 value;
};
// An f16 in memory.
struct Float16 {
  _Float16 value;
};

// Returns the number unchanged.
DTC_DEVICE float widen(float x) { return x; }
// Converts bf16 to f32.
DTC_DEVICE float widen(BFloat16 x) { return static_cast<float>(x.value); }
// Converts f16 to f32.
DTC_DEVICE float widen(Float16 x) { return static_cast<float>(x.value); }
// Rounds an f32 to T, to nearest even.
template <typename T> DTC_DEVICE T narrow(float x);
template <> DTC_DEVICE float narrow<float>(float x) { return x; }
template <> DTC_DEVICE BFloat16 narrow<BFloat16>(float x) { return {static_cast<__bf16>(x)}; }
template <> DTC_DEVICE Float16 narrow<Float16>(float x) { return {static_cast<_Float16>(x)}; }

// Packs two numbers in a word, the first one low, as fragments and pairs in memory have them.
template <typename T> DTC_DEVICE uint32_t packPair(float first, float second) {
  typedef decltype(T::value) Pair __attribute__((ext_vector_type(2)));
  typedef float Floats __attribute__((ext_vector_type(2)));
  Pair pair = __builtin_convertvector((Floats{first, second}), Pair);
  return __builtin_bit_cast(uint32_t, pair);
}
// Unpacks a word of packPair.
template <typename T> DTC_DEVICE void unpackPair(uint32_t word, float &first, float &second) {
  typedef decltype(T::value) Pair __attribute__((ext_vector_type(2)));
  Pair pair = __builtin_bit_cast(Pair, word);
  first = static_cast<float>(pair[0]), second = static_cast<float>(pair[1]);
}

// Vectors that are moved by one access; the address is a multiple of their size.
typedef uint32_t Bytes16 __attribute__((ext_vector_type(4)));
typedef float Floats4 __attribute__((ext_vector_type(4)));

} // namespace dtc::cuda
