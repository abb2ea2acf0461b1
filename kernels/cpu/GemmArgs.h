// The operands of matrix products.
#pragma once

#include "kernels/common/ElementType.h"

#include <cstdint>

namespace dtc::cpu {

// C[m,n] = alpha * op(A) * op(B) + beta * C, `batch` times, operands `stride*` elements apart.
// op(A) is [m,k]: A itself with leading dimension lda if !transA, else the transpose of A [k,m].
// op(B) [k,n] is defined in the same way. Cost: 2*batch*m*n*k flops. GemmTable.cpp chooses the
// library and the tile sizes.
struct GemmArgs {
  const float *a;
  const float *b;
  float *c;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  bool transA = false, transB = false;
  float alpha = 1, beta = 0;
  int64_t batch = 1, strideA = 0, strideB = 0, strideC = 0;
};

// The same matrix product for a and b of 16 bits, and c of the same type or f32. Sums are in f32
// and rounded once.
struct NarrowGemmArgs {
  const void *a, *b;
  void *c;
  ElementType type, resultType;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  bool transA = false, transB = false;
  float alpha = 1, beta = 0;
  int64_t batch = 1, strideA = 0, strideB = 0, strideC = 0;
};

} // namespace dtc::cpu
