// What device code needs of CUDA C++, for clang alone: no CUDA toolkit, no headers of it.
//
// Compiled with -x cuda --cuda-device-only -nocudainc -nocudalib. All is a clang builtin or one
// PTX instruction, so that passes/simt can run the same LLVM IR on a CPU.
#pragma once

#include <stdint.h>

#define DTC_DEVICE __attribute__((device)) inline __attribute__((always_inline))
#define DTC_SHARED __attribute__((shared))
// A kernel of blocks of at most `threads`, of which `blocks` should fit on a multiprocessor.
#define DTC_KERNEL(threads, blocks)                                                                \
  extern "C" __attribute__((global)) __attribute__((launch_bounds(threads, blocks))) void

// Shared memory whose size the launch says.
extern __attribute__((shared, aligned(16))) char dtcDynamicShared[];

namespace dtc::cuda {

inline constexpr uint32_t kWarp = 32, kAllLanes = 0xFFFFFFFFu;
inline constexpr float kInfinity = __builtin_inff();
inline constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

DTC_DEVICE uint32_t threadIndex() { return __nvvm_read_ptx_sreg_tid_x(); }
DTC_DEVICE uint32_t blockIndex() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DTC_DEVICE uint32_t blockIndexY() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DTC_DEVICE uint32_t numBlocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DTC_DEVICE void blockBarrier() { __syncthreads(); }
DTC_DEVICE void warpBarrier() { __nvvm_bar_warp_sync(kAllLanes); }

template <typename T> DTC_DEVICE T least(T a, T b) { return a < b ? a : b; }
template <typename T> DTC_DEVICE T greatest(T a, T b) { return a > b ? a : b; }
DTC_DEVICE float maximum(float a, float b) { return __builtin_fmaxf(a, b); }

DTC_DEVICE float shuffleXor(float value, int lanes) {
  return __nvvm_shfl_sync_bfly_f32(kAllLanes, value, lanes, 31);
}
DTC_DEVICE int shuffleUp(int value, int lanes) {
  return __nvvm_shfl_sync_up_i32(kAllLanes, value, lanes, 0);
}
DTC_DEVICE uint32_t ballot(bool value) { return __nvvm_vote_ballot_sync(kAllLanes, value); }

// Over groups of `lanes` neighbours, a power of two.
template <int lanes> DTC_DEVICE float sumOver(float value) {
#pragma unroll
  for (int i = lanes / 2; i > 0; i /= 2)
    value += shuffleXor(value, i);
  return value;
}
template <int lanes> DTC_DEVICE float maximumOver(float value) {
#pragma unroll
  for (int i = lanes / 2; i > 0; i /= 2)
    value = maximum(value, shuffleXor(value, i));
  return value;
}

DTC_DEVICE float exp2Approximate(float x) { return __nvvm_ex2_approx_ftz_f(x); }
DTC_DEVICE float log2Approximate(float x) { return __nvvm_lg2_approx_ftz_f(x); }

// Narrow numbers as they lie in memory.
struct BFloat16 {
  __bf16 value;
};
struct Float16 {
  _Float16 value;
};

DTC_DEVICE float widen(float x) { return x; }
DTC_DEVICE float widen(BFloat16 x) { return static_cast<float>(x.value); }
DTC_DEVICE float widen(Float16 x) { return static_cast<float>(x.value); }
template <typename T> DTC_DEVICE T narrow(float x);
template <> DTC_DEVICE float narrow<float>(float x) { return x; }
template <> DTC_DEVICE BFloat16 narrow<BFloat16>(float x) { return {static_cast<__bf16>(x)}; }
template <> DTC_DEVICE Float16 narrow<Float16>(float x) { return {static_cast<_Float16>(x)}; }

// Two of them in a word, the first one low, as fragments and pairs in memory have them.
template <typename T> DTC_DEVICE uint32_t packPair(float first, float second) {
  typedef decltype(T::value) Pair __attribute__((ext_vector_type(2)));
  typedef float Floats __attribute__((ext_vector_type(2)));
  Pair pair = __builtin_convertvector((Floats{first, second}), Pair);
  return __builtin_bit_cast(uint32_t, pair);
}
template <typename T> DTC_DEVICE void unpackPair(uint32_t word, float &first, float &second) {
  typedef decltype(T::value) Pair __attribute__((ext_vector_type(2)));
  Pair pair = __builtin_bit_cast(Pair, word);
  first = static_cast<float>(pair[0]), second = static_cast<float>(pair[1]);
}

// Moved as one access; the address is a multiple of its size.
typedef uint32_t Bytes16 __attribute__((ext_vector_type(4)));
typedef float Floats4 __attribute__((ext_vector_type(4)));

} // namespace dtc::cuda
