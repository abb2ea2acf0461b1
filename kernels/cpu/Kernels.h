// The library kernels of the CPU device: matrix product, attention, embedding,
// convolution, pooling, strided copy.
//
// All tensors are row-major f32 unless said otherwise; sizes and strides in elements. Every kernel
// splits its work over the given pool and gives bitwise the same result for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dtc::cpu {

class ThreadPool;

// How numbers lie in memory; all are computed with in f32, and rounded to nearest even.
enum class ElementType : uint8_t { F32, BF16, F16 };
inline int64_t bytesOf(ElementType type) { return type == ElementType::F32 ? 4 : 2; }

// C[m,n] = alpha * op(A) * op(B) + beta * C, `batch` times, operands `stride*` elements apart.
// op(A) is [m,k]: A itself with leading dimension lda when !transA, else the transpose of A [k,m].
// Same for B [k,n]. Cost: 2*batch*m*n*k flops. GemmTable.cpp says which library multiplies what, in
// tiles of which size.
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
void gemm(const GemmArgs &args, ThreadPool &pool);

// The same for a and b of 16 bits, and c of the same type or f32. Sums in f32, and rounds once.
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
void narrowGemm(const NarrowGemmArgs &args, ThreadPool &pool);

// out = softmax(scale * q k^T + mask) v, in blocks with a running maximum; the score matrix is
// never stored. causal: query i sees keys j <= i + keys - queries. Query head h reads kv head
// h / (heads/kvHeads); heads % kvHeads == 0.
//   q, out  [batch, queries, heads, headDim]
//   k, v    [batch, keys, kvHeads, headDim]
//   lse     [batch, heads, queries]
// qRow, kRow, vRow: elements from a token to the next, 0 where they have no gaps.
// Source: Dao 2023, arXiv:2307.08691.
// `globalHead0`, `globalBatch0`, `totalHeads` place this rank's part of the heads and batch in the
// whole, so that dropout does not depend on the plan.
struct AttentionArgs {
  const float *q, *k, *v;
  float *out, *lse;
  int64_t batch, queries, keys, heads, kvHeads, headDim;
  bool causal;
  float scale;
  float dropout = 0; // probability of zeroing a weight; kept weights are scaled by 1/(1-dropout)
  uint64_t seed = 0, dropoutId = 0, step = 0;
  int64_t globalBatch0 = 0, globalHead0 = 0, totalHeads = 0;
  int64_t qRow = 0, kRow = 0, vRow = 0;
};
void attention(const AttentionArgs &args, ThreadPool &pool);

// Gradients of attention(); `out` and `lse` are its results. scratch: f32 [batch, heads, queries].
// Source: Dao 2023, arXiv:2307.08691, algorithm 2.
struct AttentionGradArgs {
  AttentionArgs forward; // out and lse are inputs
  const float *dout;
  float *dq, *dk, *dv;
  float *scratch;
  int64_t dqRow = 0, dkRow = 0, dvRow = 0;
};
void attentionGrad(const AttentionGradArgs &args, ThreadPool &pool);

// Both for tensors of `type`, which stand here; those of `args` but for lse are not read. Of
// forward the gradients may be null.
struct NarrowTensors {
  ElementType type;
  const void *q, *k, *v;
  void *out;
  const void *dout = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
  int64_t dqRow = 0, dkRow = 0, dvRow = 0;
};
void narrowAttention(const AttentionArgs &args, const NarrowTensors &tensors, ThreadPool &pool);
void narrowAttentionGrad(const AttentionArgs &args, const NarrowTensors &tensors, float *scratch,
                         ThreadPool &pool);

// out[t,:] = table[ids[t] - firstRow, :] where that row exists among `rows`, else 0.
// table [rows, columns], out [tokens, columns], both of `type`.
void embedding(const void *table, const int32_t *ids, void *out, int64_t rows, int64_t columns,
               int64_t tokens, int64_t firstRow, ThreadPool &pool,
               ElementType type = ElementType::F32);

// grad[ids[t] - firstRow, :] += dout[t, :] in order of t; grad is zeroed first unless `accumulate`.
// Tokens whose id is `padding` are skipped; a negative `padding` is no id. dout is of `type`.
void embeddingGrad(float *grad, const int32_t *ids, const void *dout, int64_t rows, int64_t columns,
                   int64_t tokens, int64_t firstRow, bool accumulate, ThreadPool &pool,
                   ElementType type = ElementType::F32, int64_t padding = -1);

// y[b,f,i,j] = sum over c,p,q of x[b,c, i*stride - padding + p*dilation, j*...] w[f,c,p,q], in
// `groups` of channels and filters; pixels outside of the image are 0.
//   x  [batch, channels, height, width]
//   w  [filters, channels / groups, kernelHeight, kernelWidth]
//   y  [batch, filters, outHeight, outWidth]
// Cost: 2 * size of y * size of a filter flops, for each of the three below.
struct Conv2dShape {
  int64_t batch, channels, filters, groups, height, width;
  int64_t kernelHeight, kernelWidth;
  int64_t strideHeight = 1, strideWidth = 1, paddingHeight = 0, paddingWidth = 0;
  int64_t dilationHeight = 1, dilationWidth = 1;

  int64_t outHeight() const {
    return (height + 2 * paddingHeight - dilationHeight * (kernelHeight - 1) - 1) / strideHeight +
           1;
  }
  int64_t outWidth() const {
    return (width + 2 * paddingWidth - dilationWidth * (kernelWidth - 1) - 1) / strideWidth + 1;
  }
  // Of one sample of x and y, and of w.
  int64_t imageSize() const { return channels * height * width; }
  int64_t resultSize() const { return filters * outHeight() * outWidth(); }
  int64_t weightSize() const { return filters * (channels / groups) * kernelHeight * kernelWidth; }
};
void conv2d(const Conv2dShape &shape, const float *x, const float *weight, float *y,
            ThreadPool &pool);
void conv2dInputGrad(const Conv2dShape &shape, const float *dy, const float *weight, float *dx,
                     ThreadPool &pool);
// Adds up `pieces` of the batch, each in its own part of `scratch` [pieces, size of w], and all to
// dweight where `accumulate` is set.
void conv2dWeightGrad(const Conv2dShape &shape, const float *x, const float *dy, float *dweight,
                      float *scratch, int64_t pieces, bool accumulate, ThreadPool &pool);

// Windows of images, each of the `planes` = batch * channels by itself: their maximum, of the pixels
// that are inside, or their mean, where those outside count as 0. Padding is half of the kernel at
// most.
//   x  [planes, height, width]
//   y  [planes, outHeight, outWidth]
// Cost: reads x and writes y once (backward: the other way), kernel size of y operations.
struct Pool2dShape {
  int64_t planes, height, width, kernelHeight, kernelWidth;
  int64_t strideHeight, strideWidth, paddingHeight, paddingWidth;

  int64_t outHeight() const {
    return (height + 2 * paddingHeight - kernelHeight) / strideHeight + 1;
  }
  int64_t outWidth() const { return (width + 2 * paddingWidth - kernelWidth) / strideWidth + 1; }
};
void maxPool2d(const Pool2dShape &shape, const float *x, float *y, ThreadPool &pool);
void avgPool2d(const Pool2dShape &shape, const float *x, float *y, ThreadPool &pool);
// dx of the first maximum of every window, row by row; a NaN is one. Found again in x.
void maxPool2dGrad(const Pool2dShape &shape, const float *x, const float *dy, float *dx,
                   ThreadPool &pool);
void avgPool2dGrad(const Pool2dShape &shape, const float *dy, float *dx, ThreadPool &pool);

// dst[...] = (accumulate ? dst[...] : 0) + src[...] over a box; `elementBytes` 1, 2, 4 or 8
// (accumulate: f32 only). Joins contiguous dims first, so that a plain copy is one memcpy.
struct StridedCopyArgs {
  const void *src;
  void *dst;
  size_t elementBytes;
  int numDims; // at most 12
  const int64_t *sizes, *srcStrides, *dstStrides;
  bool accumulate = false;
};
void stridedCopy(const StridedCopyArgs &args, ThreadPool &pool);

} // namespace dtc::cpu
