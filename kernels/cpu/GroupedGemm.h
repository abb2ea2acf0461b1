// Matrix products of groups of rows, whose numbers are data: those of a mixture's experts.
//
// Tensors are row-major and without gaps. Each group is one product of kernels/cpu/Gemm.h or
// NarrowGemm.h, with the bits that it has there, so that they depend neither on the number of
// threads nor on the other groups.
#pragma once

#include "kernels/cpu/GroupedGemmArgs.h"

namespace dtc::cpu {

class ThreadPool;

// Computes the products of `args`.
void groupedGemm(const GroupedGemmArgs &args, ThreadPool &pool);

} // namespace dtc::cpu
