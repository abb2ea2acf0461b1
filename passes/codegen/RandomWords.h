// Step 3 of the lowering of kernels: random numbers.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Step 3. Replaces every graph.random_word by calls of one shared function of the module.
void shareRandomWords(mlir::ModuleOp module);
// Lanes of a call: two AVX2 registers for each of the four words of a counter, so that none spills.
inline constexpr int64_t randomLanes = 8;

// Step 3 on a GPU. Expands the arithmetic inline: a call would keep a thread's registers in memory.
void inlineRandomWords(mlir::ModuleOp module);

} // namespace dtc
