// The types of a file's numbers: which of them kernels compute with, and what safetensors files and
// checkpoints call them. The loader's checks and the choice of kernels both read this, so that a
// type is known to both or refused.
#pragma once

#include "kernels/common/ElementType.h"
#include "runtime/base/Status.h"
#include "runtime/format/dte_generated.h"

#include <optional>
#include <string_view>

namespace dtc::format {

// Returns the element type of kernels; nullopt for integers, and for values that are no DType.
// Example: elementTypeOf(DType::bf16) is ElementType::BF16, elementTypeOf(DType::i32) is nullopt.
std::optional<ElementType> elementTypeOf(DType type);

// Sets `found` to the element type of kernels. Fails for a type that no kernel computes with.
rt::Status findElementType(DType type, ElementType &found);

// Returns the name of a type in safetensors files and checkpoints: "F32", "BF16", "F16", "I32",
// "I64" or "U8"; "" for a value that is no DType.
const char *storedName(DType type);

// Returns the type of a name that storedName returns; nullopt for any other text.
std::optional<DType> storedType(std::string_view name);

} // namespace dtc::format
