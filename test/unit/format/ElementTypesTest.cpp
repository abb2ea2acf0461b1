#include "runtime/format/ElementTypes.h"

#include "runtime/format/Operands.h"

#include <gtest/gtest.h>

namespace dtc::format {
namespace {

// A file may have any byte as a dtype. Whoever adds a type to the format has to say here whether
// kernels compute with it.
TEST(ElementTypes, AreOfFloatsAlone) {
  auto isFloat = [](DType type) {
    switch (type) {
    case DType::f32:
    case DType::bf16:
    case DType::f16:
      return true;
    case DType::i32:
    case DType::i64:
    case DType::u8:
      return false;
    }
    return false;
  };
  for (int value = 0; value < 256; ++value) {
    auto type = static_cast<DType>(value);
    ElementType found = ElementType::F32;
    rt::Status status = findElementType(type, found);
    EXPECT_EQ(elementTypeOf(type).has_value(), isFloat(type)) << value;
    EXPECT_EQ(status.ok(), isFloat(type)) << value;
    if (status.ok()) {
      EXPECT_EQ(elementTypeOf(type), found) << value;
      EXPECT_STREQ(nameOf(found), EnumNameDType(type));
      EXPECT_EQ(bytesOf(found), static_cast<int64_t>(bytesOf(type))) << value;
    }
  }
}

TEST(ElementTypes, AreNotTakenAsF32) {
  ElementType found = ElementType::F16;
  rt::Status status = findElementType(static_cast<DType>(6), found);
  EXPECT_EQ(found, ElementType::F16);
  EXPECT_EQ(status.message(),
            "choosing a kernel: dtype 6 is none of kernels, wanted f32, bf16 or f16");
}

TEST(StoredNames, AreOfAllTypes) {
  for (int value = 0; value < 256; ++value) {
    auto type = static_cast<DType>(value);
    bool isKnown = type <= DType::MAX;
    EXPECT_EQ(std::string(storedName(type)).empty(), !isKnown) << value;
    if (isKnown)
      EXPECT_EQ(storedType(storedName(type)), type) << storedName(type);
  }
  EXPECT_EQ(storedType("BF16"), DType::bf16);
  for (const char *other : {"", "f32", "F64", "F8_E4M3", "BOOL"})
    EXPECT_EQ(storedType(other), std::nullopt) << other;
}

} // namespace
} // namespace dtc::format
