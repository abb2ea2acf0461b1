// Philox4x32-10: random numbers from a counter and a key, so that any element can be drawn alone.
//
// Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", and the
// known answers of Random123's kat_vectors. Example: philox4x32({0, 0, 0, 0}, 0)[0] == 0x6627e8d5.
// The functions are static because files built for different instruction sets include this: the
// linker must not keep the AVX-512 copy for all.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace dtc::cpu {

inline constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53u;
inline constexpr uint32_t kPhiloxMultiplier1 = 0xCD9E8D57u;
inline constexpr uint32_t kPhiloxKeyStep0 = 0x9E3779B9u;
inline constexpr uint32_t kPhiloxKeyStep1 = 0xBB67AE85u;
inline constexpr int kPhiloxRounds = 10;

// The four words of `counter` under `key` (low word of the key first).
static inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, uint64_t key) {
  auto key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    uint64_t product0 = uint64_t(kPhiloxMultiplier0) * counter[0];
    uint64_t product1 = uint64_t(kPhiloxMultiplier1) * counter[2];
    counter = {uint32_t(product1 >> 32) ^ counter[1] ^ key0, uint32_t(product1),
               uint32_t(product0 >> 32) ^ counter[3] ^ key1, uint32_t(product0)};
    key0 += kPhiloxKeyStep0;
    key1 += kPhiloxKeyStep1;
  }
  return counter;
}

// Word 0 of the counters {lo(e), hi(e), word2, word3} for e = first + i, i in [0, kLanes): the form
// that dropout needs. Straight-line code over arrays, which the compiler turns into vectors.
template <int kLanes>
static inline void philoxWord0(uint64_t first, uint32_t word2, uint32_t word3, uint64_t key,
                               uint32_t *out) {
  uint32_t counter0[kLanes], counter1[kLanes], counter2[kLanes], counter3[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    uint64_t element = first + static_cast<uint64_t>(i);
    counter0[i] = static_cast<uint32_t>(element);
    counter1[i] = static_cast<uint32_t>(element >> 32);
    counter2[i] = word2;
    counter3[i] = word3;
  }
  auto key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      uint64_t product0 = uint64_t(kPhiloxMultiplier0) * counter0[i];
      uint64_t product1 = uint64_t(kPhiloxMultiplier1) * counter2[i];
      counter0[i] = uint32_t(product1 >> 32) ^ counter1[i] ^ key0;
      counter1[i] = uint32_t(product1);
      counter2[i] = uint32_t(product0 >> 32) ^ counter3[i] ^ key1;
      counter3[i] = uint32_t(product0);
    }
    key0 += kPhiloxKeyStep0;
    key1 += kPhiloxKeyStep1;
  }
  for (int i = 0; i < kLanes; ++i)
    out[i] = counter0[i];
}

// Least word that is kept when values are dropped with probability `p`: keep iff word >= this.
// 2^32 (nothing kept) when p >= 1, so the comparison is one of 64 bits.
inline uint64_t dropoutThreshold(double p) {
  if (!(p > 0))
    return 0;
  return p >= 1 ? uint64_t(1) << 32 : static_cast<uint64_t>(std::ceil(p * 4294967296.0));
}

} // namespace dtc::cpu
