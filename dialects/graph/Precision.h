// The precisions of training.
#pragma once

#include "dialects/graph/EnumTable.h"

namespace dtc {

// The format in which a model is trained. With FP8 the products of linear layers are of numbers of
// 8 bits, and everything beside them is as with BF16.
enum class Precision : uint8_t { F32, BF16, F16, FP8 };

// The facts about a precision.
struct PrecisionRow {
  Precision value;
  llvm::StringRef name; // in plans, stacks and flags
  Precision stored;     // the precision of parameters and activations in memory
  int bytes;            // bytes of one element of these
};

// All precisions, in order.
inline constexpr PrecisionRow kPrecisions[] = {
    {Precision::F32, "f32", /*stored=*/Precision::F32, 4},
    {Precision::BF16, "bf16", /*stored=*/Precision::BF16, 2},
    {Precision::F16, "f16", /*stored=*/Precision::F16, 2},
    {Precision::FP8, "fp8", /*stored=*/Precision::BF16, 2},
};
static_assert(isInOrder(kPrecisions));

// Returns the name of a precision: "bf16".
constexpr llvm::StringRef nameOf(Precision precision) { return rowOf(kPrecisions, precision).name; }
// Returns the precision of a name; nullopt for any other text.
inline std::optional<Precision> precisionFrom(llvm::StringRef name) {
  return valueNamed(kPrecisions, name);
}

// Returns the precision of parameters and activations in memory. Example: BF16 for FP8.
constexpr Precision storedAs(Precision precision) { return rowOf(kPrecisions, precision).stored; }
// Returns the bytes of an element of a parameter or an activation.
constexpr int bytesOf(Precision precision) { return rowOf(kPrecisions, precision).bytes; }

} // namespace dtc
