// The inner kernels, compiled once per instruction set, and their selection at run time.
#pragma once

#include "kernels/common/ElementType.h"
#include "kernels/cpu/AttentionArgs.h"

namespace dtc::cpu {

// A part of the gradients of one kv head, with all of its query heads. dk and dv of a range of keys
// need all queries; dq of a range of queries needs all keys. Ranges begin at multiples of
// kAttentionGrain; the cuts do not change a bit of the result.
struct AttentionGradRange {
  int64_t batchIndex, kvHead;
  int64_t queryBegin, queryEnd, keyBegin, keyEnd;
  bool queryGradients, keyGradients; // the gradients to compute: dq, and dk with dv
  bool biasGradient = false;         // dbias, which is added to
};
inline constexpr int64_t kAttentionGrain = 192;

// The kernels of one instruction set. All run on the calling thread; `workspace` is 64-byte aligned
// and belongs to the call. Sizes are in elements.
struct IsaKernels {
  const char *name; // "avx2" or "avx512"
  int tileRows, tileColumns;

  // Packs op(A) [m,k] into panels of tileRows rows, ceil(m/tileRows)*tileRows*k floats plus 16 of
  // slack; rows beyond m become 0. op(A)[i,p] is a[i*lda+p], or a[p*lda+i] if `transposed`.
  void (*packA)(const float *a, int64_t lda, bool transposed, int64_t m, int64_t k, float *out);
  // Packs op(B) [k,n] into panels of tileColumns columns; columns beyond n become 0.
  void (*packB)(const float *b, int64_t ldb, bool transposed, int64_t k, int64_t n, float *out);
  // Computes C[m,n] = beta * C + alpha * A * B from packed operands.
  void (*multiplyPacked)(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
                         int64_t ldc, float alpha, float beta);

  // Compute out and lse of queries [queryBegin, queryEnd) of all query heads of one kv head.
  // queryBegin is a multiple of kAttentionGrain; the cuts do not change a bit of the result.
  int64_t (*attentionWorkspace)(const AttentionArgs &args);
  void (*attentionUnit)(const AttentionArgs &args, int64_t batchIndex, int64_t kvHead,
                        int64_t queryBegin, int64_t queryEnd, float *workspace);
  // Compute the gradients of one range. attentionDelta must have run for every batch index and
  // query head.
  void (*attentionDelta)(const AttentionGradArgs &args, int64_t batchIndex, int64_t head);
  int64_t (*attentionGradWorkspace)(const AttentionArgs &args);
  void (*attentionGradUnit)(const AttentionGradArgs &args, const AttentionGradRange &range,
                            float *workspace);
  // Adds the gradient of bias of one query head, which reads range.kvHead, to dbias.
  void (*attentionBiasUnit)(const AttentionGradArgs &args, const AttentionGradRange &range,
                            int64_t head, float *workspace);

  // Computes dst[j*ldd + i] = src[i*lds + j] for i < rows, j < columns; moves bits, so any 4-byte
  // type is possible.
  void (*transpose)(const float *src, int64_t lds, float *dst, int64_t ldd, int64_t rows,
                    int64_t columns);
  // Computes out[i] = 2^x[i] for x[i] <= 0 or NaN; the relative error is below 2e-7; the result is
  // 0 below -126.
  void (*exp2NonPositive)(const float *x, float *out, int64_t count);

  // Convert elements of `type` to f32, and f32 to `type` rounded to nearest even.
  void (*widen)(ElementType type, const void *from, float *to, int64_t count);
  void (*narrow)(ElementType type, const float *from, void *to, int64_t count);
};

// Returns the kernels of the best instruction set of this processor, or those chosen by
// selectIsa().
const IsaKernels &isaKernels();

// Makes isaKernels() return the kernels of `name` from now on; returns false if this processor
// lacks it. For tests and benchmarks, while no kernel runs. Example: selectIsa("avx2").
bool selectIsa(const char *name);

namespace avx2 {
extern const IsaKernels kernels;
}
namespace avx512 {
extern const IsaKernels kernels;
}

} // namespace dtc::cpu
