// Conversions from f32 to bf16 by integers, since x86-64 has none.
#pragma once

#include "llvm/IR/Module.h"

namespace dtc {

// Replaces conversions from f32 to bf16 by arithmetic that rounds to nearest, ties to even, and defines the function that
// LLVM calls for those that it makes itself. Every NaN becomes 0x7fff, PTX's.
void expandBf16(llvm::Module &module);

} // namespace dtc
