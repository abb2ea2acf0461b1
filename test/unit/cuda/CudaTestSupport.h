// What the tests of CUDA kernels share: numbers of three types, strided tensors, comparisons.
#pragma once

#include "kernels/cpu/Kernels.h"
#include "runtime/base/HalfFloats.h"
#include "test/unit/cuda/EmulatedGpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace dtc::cuda {

inline cpu::ElementType onCpu(ElementType type) { return static_cast<cpu::ElementType>(type); }

inline std::string nameOf(ElementType type) {
  return type == ElementType::F32 ? "f32" : type == ElementType::BF16 ? "bf16" : "f16";
}

// As they lie in memory.
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

class Numbers {
public:
  explicit Numbers(uint32_t seed) : engine(seed) {}
  std::vector<float> normal(int64_t count) {
    std::normal_distribution<float> distribution(0, 1);
    std::vector<float> values(static_cast<size_t>(count));
    for (float &value : values)
      value = distribution(engine);
    return values;
  }
  // Rounded to numbers of `type`.
  std::vector<uint8_t> normalBytes(ElementType type, int64_t count) {
    return toBytes(type, normal(count));
  }

private:
  std::mt19937 engine;
};

// Largest difference as a share of the largest number expected, or of `scale` where that is larger.
// NaN, and an infinity on one side alone, count as infinite.
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
