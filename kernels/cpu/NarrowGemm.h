// Matrix products of 16-bit numbers.
//
// Sizes and strides are in elements, and tensors are row-major. The kernel splits its work over the
// given pool and gives bitwise the same result for any number of threads.
#pragma once

#include "kernels/cpu/GemmArgs.h"

namespace dtc::cpu {

class ThreadPool;

// Computes the matrix product of `args`.
void narrowGemm(const NarrowGemmArgs &args, ThreadPool &pool);

// Computes narrowGemm() if no library supports the type: packing converts operands to f32.
void packedNarrowGemm(const NarrowGemmArgs &args, ThreadPool &pool);

// Returns true if an operand has subnormal elements, which the bf16 instructions of processors
// multiply as 0 (Intel SDM, VDPBF16PS and TDPBF16PS). Reads each element of A and B once.
bool hasSubnormals(const NarrowGemmArgs &args, ThreadPool &pool);

} // namespace dtc::cpu
