// The tokens that a value is made of where they pass round a ring of ranks.
#pragma once

#include <cstdint>

namespace dtc {

// Sets of ranks of a ring: bit p stands for the rank p positions before, modulo kMostPositions, and
// bit 0 for the rank itself.
struct RingTokens {
  // Ranks whose tokens a value is made of; none for what has no tokens or those of all.
  uint64_t positions = 0;
  // Ranks whose keys the queries have met, or whose queries the keys have; none for what attention
  // has not made.
  uint64_t met = 0;
  // Ranks over whose keys alone a result of attention is a mean, and ranks over whose keys a value
  // has the sums of exponentials that weigh such means.
  uint64_t means = 0, sums = 0;

  bool operator==(const RingTokens &) const = default;

  // The number of ranks of a ring that are told apart.
  static constexpr uint32_t kMostPositions = 64;

  // Adds those of `other`, which the value is made of, too.
  RingTokens &operator|=(const RingTokens &other) {
    positions |= other.positions;
    met |= other.met;
    means |= other.means;
    sums |= other.sums;
    return *this;
  }
};

} // namespace dtc
