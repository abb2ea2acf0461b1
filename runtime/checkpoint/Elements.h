// Numbers as the elements that tensors store.
#pragma once

#include "runtime/format/dte_generated.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace dtc::rt {

// Of the name in safetensors files, "F32", "BF16" or "F16".
format::DType dtypeOf(std::string_view name);

// The bytes of `values` in `type`: floating-point types round to nearest, ties to even; integers cut
// off the fraction, and what they cannot hold becomes their end that is nearest, NaN 0.
// Example: encode(format::DType::bf16, {1.0f}) gives 0x80, 0x3f.
std::vector<std::byte> encode(format::DType type, std::span<const float> values);

// The numbers that `bytes` are in f32, bf16 or f16; as many as `values` has.
void decode(format::DType type, std::span<const std::byte> bytes, std::span<float> values);

} // namespace dtc::rt
