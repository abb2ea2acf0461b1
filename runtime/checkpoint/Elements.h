// Conversions of numbers to and from the elements that tensors store.
#pragma once

#include "runtime/format/dte_generated.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dtc::rt {

// Returns the bytes of `values` in `type`: floating-point types round to nearest, ties to even;
// integers cut off the fraction and saturate, NaN becomes 0.
// Example: encode(format::DType::bf16, {1.0f}) gives 0x80, 0x3f.
std::vector<std::byte> encode(format::DType type, std::span<const float> values);

// Converts `bytes` in `type` to `values`, which has as many elements. Integers that a float can't
// hold are rounded.
void decode(format::DType type, std::span<const std::byte> bytes, std::span<float> values);

} // namespace dtc::rt
