// The element types in which gradients travel between ranks and are added up.
#pragma once

#include "dialects/graph/EnumTable.h"

namespace dtc {

// The element type in which gradients are reduced over ranks, or added up over micro-batches.
enum class GradientType : uint8_t { F32, BF16, F16 };

// The facts about a gradient type.
struct GradientTypeRow {
  GradientType value;
  llvm::StringRef name; // in plans and flags
  int bytes;            // bytes of one gradient
  bool isOffered;       // may be asked for; else it is what software does with models of that type
};

// All gradient types, in order.
inline constexpr GradientTypeRow kGradientTypes[] = {
    {GradientType::F32, "f32", 4, /*isOffered=*/true},
    {GradientType::BF16, "bf16", 2, /*isOffered=*/true},
    {GradientType::F16, "f16", 2, /*isOffered=*/false},
};
static_assert(isInOrder(kGradientTypes));

// Returns the name of a gradient type: "bf16".
constexpr llvm::StringRef nameOf(GradientType type) { return rowOf(kGradientTypes, type).name; }
// Returns the gradient type of a name; nullopt for any other text.
inline std::optional<GradientType> gradientTypeFrom(llvm::StringRef name) {
  return valueNamed(kGradientTypes, name);
}

// Returns the bytes of one gradient.
constexpr int bytesOf(GradientType type) { return rowOf(kGradientTypes, type).bytes; }

// Returns the gradient type of a name that may be asked for; nullopt for any other text.
inline std::optional<GradientType> offeredGradientTypeFrom(llvm::StringRef name) {
  std::optional<GradientType> type = gradientTypeFrom(name);
  return type && rowOf(kGradientTypes, *type).isOffered ? type : std::nullopt;
}
// Returns the names that offeredGradientTypeFrom accepts.
inline std::vector<std::string> offeredGradientTypes() {
  return namesOf(kGradientTypes, [](const GradientTypeRow &row) { return row.isOffered; });
}

} // namespace dtc
