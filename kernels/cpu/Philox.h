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

// Returns the four words of `counter` under `key` (low word of the key first).
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

// Vectors of half the lanes. Specialised, because g++ accepts no vector size from a template
// argument.
template <int kLanes> struct PhiloxVectors;
// Vectors for 2 lanes.
template <> struct PhiloxVectors<2> {
  typedef uint64_t Half __attribute__((vector_size(8)));
  typedef uint32_t Words __attribute__((vector_size(4)));
};
// Vectors for 8 lanes.
template <> struct PhiloxVectors<8> {
  typedef uint64_t Half __attribute__((vector_size(32)));
  typedef uint32_t Words __attribute__((vector_size(16)));
};
// Vectors for 16 lanes.
template <> struct PhiloxVectors<16> {
  typedef uint64_t Half __attribute__((vector_size(64)));
  typedef uint32_t Words __attribute__((vector_size(32)));
};

// Writes word 0 of the counters {lo(e), hi(e), word2, word3} for e = first + i, i in [0, kLanes),
// as dropout needs it. kLanes is 2, 8 or 16; each vector below holds half of the lanes, one 32-bit
// word in each 64-bit element, because vectors multiply 32 by 32 bits only into 64.
template <int kLanes>
static inline void philoxWord0(uint64_t first, uint32_t word2, uint32_t word3, uint64_t key,
                               uint32_t *out) {
  typedef typename PhiloxVectors<kLanes>::Half Half;
  typedef typename PhiloxVectors<kLanes>::Words Words;
  const Half low = Half{} + 0xFFFFFFFFu;
  for (int half = 0; half < 2; ++half) {
    Half element;
    for (int i = 0; i < kLanes / 2; ++i)
      element[i] = static_cast<uint64_t>(half * kLanes / 2 + i);
    element += first;
    Half counter0 = element & low, counter1 = element >> 32;
    Half counter2 = Half{} + word2, counter3 = Half{} + word3;
    auto key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < kPhiloxRounds; ++round) {
      Half product0 = (counter0 & low) * uint64_t(kPhiloxMultiplier0);
      Half product1 = (counter2 & low) * uint64_t(kPhiloxMultiplier1);
      counter0 = (product1 >> 32) ^ counter1 ^ uint64_t(key0);
      counter1 = product1 & low;
      counter2 = (product0 >> 32) ^ counter3 ^ uint64_t(key1);
      counter3 = product0 & low;
      key0 += kPhiloxKeyStep0;
      key1 += kPhiloxKeyStep1;
    }
    Words words = __builtin_convertvector(counter0, Words);
    __builtin_memcpy(out + half * kLanes / 2, &words, sizeof(words));
  }
}

// Returns the least word that is kept if values are dropped with probability `p`: keep if word >=
// this. Returns 2^32 (nothing is kept) for p >= 1, so the comparison uses 64 bits.
inline uint64_t dropoutThreshold(double p) {
  if (!(p > 0))
    return 0;
  return p >= 1 ? uint64_t(1) << 32 : static_cast<uint64_t>(std::ceil(p * 4294967296.0));
}

} // namespace dtc::cpu
