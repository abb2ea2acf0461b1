#include "runtime/format/ElementTypes.h"

#include "runtime/base/Text.h"

namespace dtc::format {

std::optional<ElementType> elementTypeOf(DType type) {
  switch (type) {
  case DType::f32:
    return ElementType::F32;
  case DType::bf16:
    return ElementType::BF16;
  case DType::f16:
    return ElementType::F16;
  case DType::i32:
  case DType::i64:
  case DType::u8:
    return std::nullopt;
  }
  return std::nullopt;
}

rt::Status findElementType(DType type, ElementType &found) {
  std::optional<ElementType> known = elementTypeOf(type);
  if (!known)
    return rt::Status::internal(text("choosing a kernel: dtype ", static_cast<int>(type),
                                     " is none of kernels, wanted f32, bf16 or f16"));
  found = *known;
  return {};
}

const char *storedName(DType type) {
  switch (type) {
  case DType::f32:
    return "F32";
  case DType::bf16:
    return "BF16";
  case DType::f16:
    return "F16";
  case DType::i32:
    return "I32";
  case DType::i64:
    return "I64";
  case DType::u8:
    return "U8";
  }
  return "";
}

std::optional<DType> storedType(std::string_view name) {
  for (DType type : EnumValuesDType())
    if (name == storedName(type))
      return type;
  return std::nullopt;
}

} // namespace dtc::format
