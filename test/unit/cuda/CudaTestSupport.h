// Common parts of the tests of CUDA kernels: numbers of three types, strided tensors, comparisons.
#pragma once

#include "kernels/cpu/Attention.h"
#include "kernels/cpu/NarrowAttention.h"
#include "runtime/base/HalfFloats.h"
#include "test/unit/cuda/EmulatedGpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace dtc::cuda {

// Returns the bytes of the numbers in memory.
inline std::vector<uint8_t> toBytes(ElementType type, const std::vector<float> &values) {
  std::vector<uint8_t> bytes(values.size() * static_cast<size_t>(bytesOf(type)));
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t narrow = type == ElementType::BF16 ? rt::toBf16(values[i]) : rt::toF16(values[i]);
    if (type == ElementType::F32)
      std::memcpy(&bytes[4 * i], &values[i], 4);
    else
      std::memcpy(&bytes[2 * i], &narrow, 2);
  }
  return bytes;
}

// Returns the numbers that bytes of a type hold.
inline std::vector<float> toFloats(ElementType type, const std::vector<uint8_t> &bytes) {
  std::vector<float> values(bytes.size() / static_cast<size_t>(bytesOf(type)));
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t narrow = 0;
    if (type == ElementType::F32)
      std::memcpy(&values[i], &bytes[4 * i], 4);
    else
      std::memcpy(&narrow, &bytes[2 * i], 2);
    if (type != ElementType::F32)
      values[i] = type == ElementType::BF16 ? rt::fromBf16(narrow) : rt::fromF16(narrow);
  }
  return values;
}

// A source of random normal numbers.
class Numbers {
public:
  explicit Numbers(uint32_t seed) : engine(seed) {}
  // Returns `count` random normal numbers.
  std::vector<float> normal(int64_t count) {
    std::normal_distribution<float> distribution(0, 1);
    std::vector<float> values(static_cast<size_t>(count));
    for (float &value : values)
      value = distribution(engine);
    return values;
  }
  // Returns random normal numbers rounded to `type`, as bytes.
  std::vector<uint8_t> normalBytes(ElementType type, int64_t count) {
    return toBytes(type, normal(count));
  }

private:
  std::mt19937 engine;
};

// Returns the largest difference as a share of the largest expected number, or of `scale` if that
// is larger. NaN, or an infinity on one side only, counts as infinite.
inline double relativeError(const std::vector<float> &found, const std::vector<float> &expected,
                            double scale = 1e-30) {
  double error = found.size() == expected.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    if (std::isfinite(expected[i]))
      scale = std::max(scale, std::abs(static_cast<double>(expected[i])));
    if (found[i] == expected[i])
      continue;
    double difference = std::abs(static_cast<double>(found[i]) - expected[i]);
    error = std::isnan(difference) ? INFINITY : std::max(error, difference);
  }
  return error / scale;
}

} // namespace dtc::cuda
