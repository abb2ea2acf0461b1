// Data and comparisons that the kernel tests share.
#pragma once

#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/ThreadPool.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace dtc::cpu::test {

// Returns random numbers in [-1, 1) for a seed.
inline std::vector<float> randomFloats(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float &value : values)
    value = uniform(generator);
  return values;
}

// Returns true if the bits are equal, NaN and signed zeros included.
inline bool sameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * 4) == 0);
}

// Expects |found - wanted| <= tolerance * (1 + |wanted|) for every element.
inline void expectClose(const std::vector<float> &found, const std::vector<double> &wanted,
                        double tolerance, const std::string &what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (size_t i = 0; i < found.size(); ++i) {
    double error = std::abs(found[i] - wanted[i]);
    ASSERT_TRUE(error <= tolerance * (1 + std::abs(wanted[i])))
        << what << ": element " << i << " of " << found.size() << ", found " << found[i]
        << ", wanted " << wanted[i];
  }
}

// Expects |found - wanted| <= tolerance * (1 + |wanted|), or two roundings of the size of the
// element, the sum of the magnitudes of its terms: long sums of terms that cancel are off by that.
inline void expectSums(const std::vector<float> &found, const std::vector<double> &wanted,
                       const std::vector<double> &sizes, double tolerance,
                       const std::string &what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_LE(std::abs(found[i] - wanted[i]),
              std::max(tolerance * (1 + std::abs(wanted[i])), 0x1p-23 * sizes[i]))
        << what << ": element " << i << " of " << found.size() << ", found " << found[i]
        << ", wanted " << wanted[i];
}

// Runs `body` under each instruction set that the processor has, and then restores the best one.
template <typename Body> void forEachIsa(const Body &body) {
  std::string best = isaKernels().name;
  for (const char *name : {"avx2", "avx512"})
    if (selectIsa(name)) {
      SCOPED_TRACE(name);
      body();
    }
  selectIsa(best.c_str());
}

} // namespace dtc::cpu::test
