// Converts numbers to the bits of 16-bit floats, and back.
#pragma once

#include "kernels/cpu/IsaKernels.h"

#include <vector>

namespace dtc::cpu::test {

// Returns numbers rounded to a type of 16 bits, as bits.
inline std::vector<uint16_t> narrowed(ElementType type, const std::vector<float> &values) {
  std::vector<uint16_t> bits(values.size());
  isaKernels().narrow(type, values.data(), bits.data(), static_cast<int64_t>(values.size()));
  return bits;
}

// Returns the numbers that bits of a 16-bit type hold.
inline std::vector<float> widened(ElementType type, const std::vector<uint16_t> &bits) {
  std::vector<float> values(bits.size());
  isaKernels().widen(type, bits.data(), values.data(), static_cast<int64_t>(bits.size()));
  return values;
}

} // namespace dtc::cpu::test
