// Places buffers in one arena so that buffers that are live together do not overlap.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace dtc {

// A buffer and its live range.
struct PlannedBuffer {
  int64_t bytes;
  int64_t begin, end; // live from time `begin` to time `end`, both included
};

// The alignment of offsets in bytes: a cache line and an AVX-512 register.
constexpr int64_t kBufferAlignment = 64;

// Returns the first time at which the most bytes are live; 0 if there are no buffers.
int64_t timeOfMostLive(llvm::ArrayRef<PlannedBuffer> buffers);

// Assigns offsets in static memory, the "dynamic storage allocation" problem, which is NP-hard.
// Method: best fit in several orders, of which the best result is kept (as in Pisarchyk and Lee
// 2020, arXiv:2001.03288).
// 1. Sort the buffers by size, by size times lifetime (largest first), or by start (earliest
// first).
// 2. Place each buffer in the smallest gap that it fits between placed buffers with overlapping
// live ranges, the lowest of equal ones; else above them.
// 3. The arena ends with the highest buffer.
// 4. While the arena is larger than the most bytes live at once, place the buffers that exceed this
// bound first and repeat, a few times (as in Joslin and Clements 1999, "Squeaky Wheel"
// Optimization).
//
// Example: a 64 bytes live [0, 1], b 64 bytes live [1, 2], c 64 bytes live [2, 3]: 128 bytes, c in
// the place of a.
class MemoryPlan {
public:
  // Places the buffers. Stops improving once the arena has at most `goodEnough` bytes.
  explicit MemoryPlan(llvm::ArrayRef<PlannedBuffer> buffers, int64_t goodEnough = 0);

  // Returns the offset of a buffer in bytes.
  int64_t getOffset(unsigned buffer) const { return offsets[buffer]; }
  int64_t getArenaBytes() const { return arenaBytes; }
  // Returns the most bytes, rounded up to the alignment, that are live at one time: no plan needs
  // less.
  int64_t getLowerBound() const { return lowerBound; }

private:
  std::vector<int64_t> place(llvm::ArrayRef<unsigned> order) const;
  bool keepIfBest(const std::vector<int64_t> &wanted);
  // True if more than one in `share` bytes exceeds the bound, and the arena is not good enough.
  bool isAbove(int64_t share) const;
  bool isGoodEnough() const { return arenaBytes >= 0 && arenaBytes <= goodEnough; }
  void repair(std::vector<unsigned> order);

  std::vector<PlannedBuffer> buffers; // bytes rounded up
  std::vector<int64_t> offsets;
  int64_t arenaBytes = -1;
  int64_t lowerBound = 0, goodEnough;
};

} // namespace dtc
