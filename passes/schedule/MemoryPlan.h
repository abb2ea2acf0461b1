// Places buffers in one arena so that buffers that are live together do not overlap.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace dtc {

struct PlannedBuffer {
  int64_t bytes;
  int64_t begin, end; // live from time `begin` to time `end`, both included
};

// Offsets are multiples of kBufferAlignment, a cache line and an AVX-512 register.
constexpr int64_t kBufferAlignment = 64;

// The first time at which most bytes are live; 0 where there are no buffers.
int64_t timeOfMostLive(llvm::ArrayRef<PlannedBuffer> buffers);

// Offset assignment for static memory, the "dynamic storage allocation" problem, which is NP-hard.
// Method: best fit in several orders, the best kept (as in Pisarchyk and Lee 2020,
// arXiv:2001.03288).
// 1. An order: by size, by size times life, or by start, the biggest or earliest first.
// 2. Each buffer goes to the smallest gap that it fits between placed buffers that are live with
//    it, the lowest of equal ones; else above them.
// 3. The arena ends where the highest buffer does.
// 4. While it is larger than what is ever live, what sticks out of that is placed first and all
//    again, a few times (as in Joslin and Clements 1999, "Squeaky Wheel" Optimization).
//
// Example: a 64 bytes live [0, 1], b 64 bytes live [1, 2], c 64 bytes live [2, 3]: 128 bytes, c
// where a was.
class MemoryPlan {
public:
  // An arena of `goodEnough` bytes is not made smaller.
  explicit MemoryPlan(llvm::ArrayRef<PlannedBuffer> buffers, int64_t goodEnough = 0);

  int64_t getOffset(unsigned buffer) const { return offsets[buffer]; }
  int64_t getArenaBytes() const { return arenaBytes; }
  // The most bytes, rounded up to the alignment, that are live at one time: no plan needs less.
  int64_t getLowerBound() const { return lowerBound; }

private:
  std::vector<int64_t> place(llvm::ArrayRef<unsigned> order) const;
  bool keepIfBest(const std::vector<int64_t> &wanted);
  // Whether more than one in `share` bytes is above the bound, and that matters.
  bool isAbove(int64_t share) const;
  bool isGoodEnough() const { return arenaBytes >= 0 && arenaBytes <= goodEnough; }
  void repair(std::vector<unsigned> order);

  std::vector<PlannedBuffer> buffers; // bytes rounded up
  std::vector<int64_t> offsets;
  int64_t arenaBytes = -1;
  int64_t lowerBound = 0, goodEnough;
};

} // namespace dtc
