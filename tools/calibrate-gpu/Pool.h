// Device memory that is handed out in turn, so that operands are not in the second-level cache.
#pragma once

#include "Check.h"

#include <cstdint>

// The type of the random values in a pool.
enum class Fill { F32, BF16, F16, FP8, Nothing };

// Device memory with random values in [-1, 1), because products of zeros run faster than those of
// data. Each run takes the next part. When all of the memory was used, it starts again at the
// beginning, so a pool of several times the cache gives cold operands.
class Pool {
public:
  Pool(int64_t bytes, Fill fill, cudaStream_t stream);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  // Returns the next `bytes` bytes, aligned to 256 bytes. `bytes` is at most size().
  void *take(int64_t bytes);
  int64_t size() const { return total; }

private:
  char *memory = nullptr;
  int64_t total, next = 0;
};
