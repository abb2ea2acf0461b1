#include "kernels/cpu/Philox.h"

#include <gtest/gtest.h>

namespace dtc::cpu {
namespace {

// The answers are those of Random123 1.14, tests/kat_vectors, philox4x32 10.
TEST(Philox, GivesThePublishedKnownAnswers) {
  struct {
    std::array<uint32_t, 4> counter;
    uint32_t key0, key1;
    std::array<uint32_t, 4> answer;
  } vectors[] = {
      {{0, 0, 0, 0}, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0u, ~0u, ~0u, ~0u}, ~0u, ~0u, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       0xa4093822,
       0x299f31d0,
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const auto &vector : vectors)
    EXPECT_EQ(philox4x32(vector.counter, uint64_t(vector.key1) << 32 | vector.key0), vector.answer);
}

template <int kLanes> void expectSameAsScalar(uint64_t first) {
  const uint64_t key = 0x299f31d0a4093822;
  uint32_t words[kLanes];
  philoxWord0<kLanes>(first, 7, 11, key, words);
  for (int i = 0; i < kLanes; ++i) {
    uint64_t element = first + static_cast<uint64_t>(i);
    auto wanted = philox4x32({uint32_t(element), uint32_t(element >> 32), 7, 11}, key);
    EXPECT_EQ(words[i], wanted[0]) << "lane " << i << " from " << first;
  }
}

TEST(Philox, VectorFormEqualsTheScalarOneAcrossTheCarry) {
  for (uint64_t first :
       {uint64_t(0), uint64_t(12345), (uint64_t(1) << 32) - 5, uint64_t(7) << 40}) {
    expectSameAsScalar<8>(first);
    expectSameAsScalar<16>(first);
    expectSameAsScalar<2>(first);
  }
}

TEST(DropoutThreshold, KeepsAllAtZeroAndNothingAtOne) {
  EXPECT_EQ(dropoutThreshold(0), 0u);
  EXPECT_EQ(dropoutThreshold(0.25), uint64_t(1) << 30);
  EXPECT_EQ(dropoutThreshold(1), uint64_t(1) << 32);
  EXPECT_EQ(dropoutThreshold(0.1), 429496730u); // ceil(429496729.6)
}

} // namespace
} // namespace dtc::cpu
