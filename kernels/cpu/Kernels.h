// The library kernels of the CPU device: matrix product, attention, embedding, convolution,
// pooling, strided copy.
//
// All tensors are row-major f32 unless noted otherwise; sizes and strides are in elements. Every
// kernel splits its work over the given pool and gives bitwise the same result for any number of
// threads.
#pragma once

#include "kernels/common/ElementType.h"

#include <cstddef>
#include <cstdint>

namespace dtc::cpu {

class ThreadPool;

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
// Computes the matrix product of `args`.
void gemm(const GemmArgs &args, ThreadPool &pool);

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
// Computes the matrix product of `args`.
void narrowGemm(const NarrowGemmArgs &args, ThreadPool &pool);

// out = softmax(scale * q k^T + mask) v, in blocks with a running maximum; the score matrix is
// never stored. causal: query i sees keys j <= i + keys - queries. Query head h reads kv head h /
// (heads/kvHeads); heads % kvHeads == 0.
//   q, out  [batch, queries, heads, headDim]
//   k, v    [batch, keys, kvHeads, headDim]
//   lse     [batch, heads, queries]
// qRow, kRow, vRow: elements from one token to the next, 0 if they have no gaps. `globalHead0`,
// `globalBatch0` and `totalHeads` give the position of this rank's heads and batch in the whole, so
// that dropout does not depend on the plan. Source: Dao 2023, arXiv:2307.08691.
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
  int64_t window = 0; // number of last keys that a query sees, itself included; 0: all. Causal only
  float softCap = 0;  // above 0, scaled scores s become softCap * tanh(s / softCap)
};
// Computes out and lse of `args`.
void attention(const AttentionArgs &args, ThreadPool &pool);

// Gradients of attention(); `out` and `lse` are its results. scratch: f32 [batch, heads, queries].
// Source: Dao 2023, arXiv:2307.08691, algorithm 2.
struct AttentionGradArgs {
  AttentionArgs forward; // out and lse are inputs
  const float *dout;
  float *dq, *dk, *dv;
  float *scratch;
  const float *dlse = nullptr; // gradient of lse, as lse; null: none
  int64_t dqRow = 0, dkRow = 0, dvRow = 0;
};
// Computes dq, dk and dv of `args`.
void attentionGrad(const AttentionGradArgs &args, ThreadPool &pool);

// The tensors of attention and its gradients if they are of `type`; those of AttentionArgs, except
// lse, are then not read. Forward may leave the gradients null.
struct NarrowTensors {
  ElementType type;
  const void *q, *k, *v;
  void *out;
  const void *dout = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
  int64_t dqRow = 0, dkRow = 0, dvRow = 0;
  const float *dlse = nullptr; // see AttentionGradArgs
};
// Computes attention of 16-bit tensors.
void narrowAttention(const AttentionArgs &args, const NarrowTensors &tensors, ThreadPool &pool);
// Computes the gradients of attention of 16-bit tensors. scratch: f32 [batch, heads, queries].
void narrowAttentionGrad(const AttentionArgs &args, const NarrowTensors &tensors, float *scratch,
                         ThreadPool &pool);

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

  // Returns the height of y in pixels.
  int64_t outHeight() const {
    return (height + 2 * paddingHeight - dilationHeight * (kernelHeight - 1) - 1) / strideHeight +
           1;
  }
  // Returns the width of y in pixels.
  int64_t outWidth() const {
    return (width + 2 * paddingWidth - dilationWidth * (kernelWidth - 1) - 1) / strideWidth + 1;
  }
  // Returns the elements of one sample of x.
  int64_t imageSize() const { return channels * height * width; }
  // Returns the elements of one sample of y.
  int64_t resultSize() const { return filters * outHeight() * outWidth(); }
  // Returns the elements of w.
  int64_t weightSize() const { return filters * (channels / groups) * kernelHeight * kernelWidth; }
};
// Computes y.
void conv2d(const Conv2dShape &shape, const float *x, const float *weight, float *y,
            ThreadPool &pool);
// Computes the gradient of x.
void conv2dInputGrad(const Conv2dShape &shape, const float *dy, const float *weight, float *dx,
                     ThreadPool &pool);
// Computes the gradient of w. Sums `pieces` of the batch, each in its own part of `scratch`
// [pieces, size of w]; adds the total to dweight if `accumulate` is set, else writes it.
void conv2dWeightGrad(const Conv2dShape &shape, const float *x, const float *dy, float *dweight,
                      float *scratch, int64_t pieces, bool accumulate, ThreadPool &pool);

// Windows of images, for each of the `planes` = batch * channels: their maximum over the pixels
// inside of the image, or their mean, for which outside pixels count as 0. Padding is at most half
// of the kernel.
//   x  [planes, height, width]
//   y  [planes, outHeight, outWidth]
// Cost: reads x and writes y once (backward: the other way), kernel size of y operations.
struct Pool2dShape {
  int64_t planes, height, width, kernelHeight, kernelWidth;
  int64_t strideHeight, strideWidth, paddingHeight, paddingWidth;

  // Returns the height of y in pixels.
  int64_t outHeight() const {
    return (height + 2 * paddingHeight - kernelHeight) / strideHeight + 1;
  }
  // Returns the width of y in pixels.
  int64_t outWidth() const { return (width + 2 * paddingWidth - kernelWidth) / strideWidth + 1; }
};
// Computes the maximum of each window.
void maxPool2d(const Pool2dShape &shape, const float *x, float *y, ThreadPool &pool);
// Computes the mean of each window.
void avgPool2d(const Pool2dShape &shape, const float *x, float *y, ThreadPool &pool);
// Computes dx: the sum of dy over the windows whose first maximum, row by row, is the pixel, else
// 0. Maxima are found again in x; a NaN counts as the maximum.
void maxPool2dGrad(const Pool2dShape &shape, const float *x, const float *dy, float *dx,
                   ThreadPool &pool);
// Computes dx: the sum of dy over the windows that contain the pixel, divided by the size of the
// kernel.
void avgPool2dGrad(const Pool2dShape &shape, const float *dy, float *dx, ThreadPool &pool);

// dst[...] = (accumulate ? dst[...] : 0) + src[...] over a box; `elementBytes` is 1, 2, 4 or 8
// (accumulate: f32 only). Contiguous dims are joined first, so that a plain copy is one memcpy.
struct StridedCopyArgs {
  const void *src;
  void *dst;
  size_t elementBytes;
  int numDims; // at most 12
  const int64_t *sizes, *srcStrides, *dstStrides;
  bool accumulate = false;
};
// Copies or adds the box of `args`.
void stridedCopy(const StridedCopyArgs &args, ThreadPool &pool);

} // namespace dtc::cpu
