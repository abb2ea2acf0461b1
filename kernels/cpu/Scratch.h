// Per-thread working memory that only grows, so that a step in steady state allocates nothing.
#pragma once

#include "kernels/cpu/OutOfMemory.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace dtc::cpu {

// A 64-byte aligned block of floats. Contents are undefined after reserve().
class Scratch {
public:
  Scratch() = default;
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  ~Scratch() { std::free(data); }

  // Returns at least `count` floats, valid until the next call.
  float *reserve(int64_t count) {
    if (count > capacity) {
      std::free(data);
      size_t bytes = (static_cast<size_t>(count) * sizeof(float) + 4095) / 4096 * 4096;
      data = static_cast<float *>(std::aligned_alloc(4096, bytes));
      if (!data)
        endWithoutMemory();
      capacity = static_cast<int64_t>(bytes / sizeof(float));
    }
    return data;
  }

private:
  float *data = nullptr;
  int64_t capacity = 0;
};

} // namespace dtc::cpu
