// The element types of tensors that kernels of all devices read and write.
#pragma once

#include <cstdint>

namespace dtc {

// The element types of tensors. Kernels compute in f32 and round to nearest even. A switch over
// them has no default, so that the compiler lists the places that a new type has to be added to.
enum class ElementType : uint8_t { F32, BF16, F16 };

// Returns the bytes of one element.
constexpr int64_t bytesOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return 4;
  case ElementType::BF16:
  case ElementType::F16:
    return 2;
  }
  __builtin_unreachable();
}

// Returns the name of a type, as names of kernels and messages have it: "f32".
constexpr const char *nameOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "f32";
  case ElementType::BF16:
    return "bf16";
  case ElementType::F16:
    return "f16";
  }
  __builtin_unreachable();
}

} // namespace dtc
