// oneDNN's matrix products.
#pragma once

#include "kernels/cpu/GemmArgs.h"

namespace dtc::cpu {

// True if this processor multiplies numbers of the type, and oneDNN has a matrix product for it.
bool hasLibraryProducts(ElementType type);

// Calls oneDNN on the calling thread, `batch` ignored; returns false if it does not accept the
// operands.
bool libraryNarrowGemm(const NarrowGemmArgs &args);

} // namespace dtc::cpu
