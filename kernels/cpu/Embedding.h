// Lookups of rows, and their gradient.
//
// Sizes and strides are in elements, and tensors are row-major. The kernel splits its work over the
// given pool and gives bitwise the same result for any number of threads.
#pragma once

#include "kernels/common/ElementType.h"

#include <cstdint>

namespace dtc::cpu {

class ThreadPool;

// Computes out[t,:] = table[ids[t] - firstRow, :], or 0 if that row is not among `rows`. table is
// [rows, columns], out [tokens, columns], both of `type`.
void embedding(const void *table, const int32_t *ids, void *out, int64_t rows, int64_t columns,
               int64_t tokens, int64_t firstRow, ThreadPool &pool,
               ElementType type = ElementType::F32);

// Computes grad[ids[t] - firstRow, :] += dout[t, :] in order of t; grad is zeroed first unless
// `accumulate` is set. Tokens whose id is `padding` are skipped; a negative `padding` means none.
// dout is of `type`.
void embeddingGrad(float *grad, const int32_t *ids, const void *dout, int64_t rows, int64_t columns,
                   int64_t tokens, int64_t firstRow, bool accumulate, ThreadPool &pool,
                   ElementType type = ElementType::F32, int64_t padding = -1);

} // namespace dtc::cpu
