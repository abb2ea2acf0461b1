// The inner kernels, compiled once per instruction set, and the choice among them at run time.
#pragma once

#include "kernels/cpu/Kernels.h"

namespace dtc::cpu {

// A part of the gradients of one kv head, with all of its query heads. dk and dv of a range of keys
// take all queries; dq of a range of queries takes all keys. Ranges begin at multiples of
// kAttentionGrain; where they are cut does not change a bit of the result.
struct AttentionGradRange {
  int64_t batchIndex, kvHead;
  int64_t queryBegin, queryEnd, keyBegin, keyEnd;
  bool queryGradients, keyGradients; // which of dq, and dk with dv, to compute
};
inline constexpr int64_t kAttentionGrain = 192;

// One instruction set's kernels. All run on the calling thread; `workspace` is 64-byte aligned and
// belongs to the call. Sizes in elements.
struct IsaKernels {
  const char *name; // "avx2" or "avx512"
  int tileRows, tileColumns;

  // Packs op(A) [m,k] into panels of tileRows rows, ceil(m/tileRows)*tileRows*k floats and 16 more
  // of slack; rows beyond m become 0. op(A)[i,p] is a[i*lda+p], or a[p*lda+i] when `transposed`.
  void (*packA)(const float *a, int64_t lda, bool transposed, int64_t m, int64_t k, float *out);
  // Packs op(B) [k,n] into panels of tileColumns columns; columns beyond n become 0.
  void (*packB)(const float *b, int64_t ldb, bool transposed, int64_t k, int64_t n, float *out);
  // C[m,n] = beta * C + alpha * A * B of packed operands.
  void (*multiplyPacked)(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
                         int64_t ldc, float alpha, float beta);

  // out and lse of queries [queryBegin, queryEnd) of all query heads of one kv head. queryBegin is
  // a multiple of kAttentionGrain; where queries are cut does not change a bit of the result.
  int64_t (*attentionWorkspace)(const AttentionArgs &args);
  void (*attentionUnit)(const AttentionArgs &args, int64_t batchIndex, int64_t kvHead,
                        int64_t queryBegin, int64_t queryEnd, float *workspace);
  // The gradients of one range. First attentionDelta of every batch index and query head.
  void (*attentionDelta)(const AttentionGradArgs &args, int64_t batchIndex, int64_t head);
  int64_t (*attentionGradWorkspace)(const AttentionArgs &args);
  void (*attentionGradUnit)(const AttentionGradArgs &args, const AttentionGradRange &range,
                            float *workspace);

  // dst[j*ldd + i] = src[i*lds + j] for i < rows, j < columns; moves bits, so any 4-byte type.
  void (*transpose)(const float *src, int64_t lds, float *dst, int64_t ldd, int64_t rows,
                    int64_t columns);
  // out[i] = 2^x[i] for x[i] <= 0 or NaN, relative error below 2e-7, 0 below -126.
  void (*exp2NonPositive)(const float *x, float *out, int64_t count);

  // Elements of `type` as f32, and f32 rounded to nearest even.
  void (*widen)(ElementType type, const void *from, float *to, int64_t count);
  void (*narrow)(ElementType type, const float *from, void *to, int64_t count);
};

// Those of the best instruction set that this processor has, or those chosen by selectIsa().
const IsaKernels &isaKernels();

// Makes isaKernels() return those of `name` from now on; false if this processor lacks it. For
// tests and benchmarks, while no kernel runs. Example: selectIsa("avx2").
bool selectIsa(const char *name);

namespace avx2 {
extern const IsaKernels kernels;
}
namespace avx512 {
extern const IsaKernels kernels;
}

} // namespace dtc::cpu
