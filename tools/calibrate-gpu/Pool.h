// Device memory that is handed out in turn, so that operands are not in the second-level cache.
#pragma once

#include "Check.h"

#include <cstdint>

enum class Fill { F32, BF16, F16, FP8, Nothing };

// `bytes` of device memory with random values in [-1, 1): products of zeros run faster than those
// of data. A run takes the next part; the memory comes round again after all of it was used, so a
// pool of several times the cache gives cold operands.
class Pool {
public:
  Pool(int64_t bytes, Fill fill, cudaStream_t stream);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  // Aligned to 256 bytes; `bytes` at most size().
  void *take(int64_t bytes);
  int64_t size() const { return total; }

private:
  char *memory = nullptr;
  int64_t total, next = 0;
};
