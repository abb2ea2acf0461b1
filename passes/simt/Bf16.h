// Converts f32 to bf16 with integer arithmetic, since x86-64 has no instruction for it.
#pragma once

#include "llvm/IR/Module.h"

namespace dtc {

// Replaces conversions from f32 to bf16 by arithmetic that rounds to nearest, ties to even, and
// defines the function that LLVM calls for conversions that it adds itself. Every NaN becomes
// 0x7fff, as in PTX.
void expandBf16(llvm::Module &module);

} // namespace dtc
