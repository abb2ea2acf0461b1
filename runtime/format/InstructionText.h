// Instructions in words, for messages.
#pragma once

#include "runtime/format/dte_generated.h"

#include <string>

namespace dtc::format {

// Returns an instruction in words: "gemm at model.mlir:12:3 (h.0.mlp)", "all_reduce of gradients
// over dp 'grad wte +3'"; without the location if the file has none.
std::string describe(const Manifest &manifest, const Instruction &instruction);

} // namespace dtc::format
