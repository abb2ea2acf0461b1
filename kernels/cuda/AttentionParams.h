// The only parameter of attention's kernels. Plain data, the same for host and device.
#pragma once

#include <stdint.h>

namespace dtc::cuda {

// The strides of [batch, tokens, heads, headDim], in elements; within a head the stride is 1.
struct HeadStrides {
  int64_t batch, token, head;
};

// Starts beyond this count as this, so that sums of positions fit in 32 bits.
constexpr int32_t kMostPosition = 1 << 29;

// Tensors have the kernel's type, except lse and delta, which are f32 [batch, heads, queries], and
// bias, slopes and sinks, which are f32.
// Query head h reads kv head h / (heads / kvHeads).
struct AttentionParams {
  const void *q, *k, *v;
  void *out;
  float *lse;
  // Used by the gradient only. delta is scratch for rowsum(dout * out), less dlse.
  const void *dout;
  void *dq, *dk, *dv;
  float *delta;
  const float *dlse; // gradient of lse, as lse; null: none
  // The part that the general kernels have alone; kernels/cpu/AttentionArgs.h defines it.
  const int32_t *lengths;
  const float *bias, *slopes;
  float *dbias;
  const int32_t *documents, *starts;
  const float *sinks; // of the forward pass only; kernels/cpu/AttentionArgs.h defines it

  HeadStrides qStrides, kStrides, vStrides, outStrides, doutStrides, dqStrides, dkStrides,
      dvStrides;
  int32_t batch, queries, keys, heads, kvHeads, headDim;
  int32_t causal; // 1: query i sees keys j <= i + keys - queries, or up to the position of starts
  int32_t window; // number of last keys that a query sees, unless causal of next ones too; 0: all
  float scale;
  float softCap;    // above 0, scaled scores s become softCap * tanh(s / softCap); 0: none
  int32_t valueDim; // head dim of v and out; 0: headDim
  int32_t prefix;   // number of first keys that all queries see
  int32_t hasLengths, hasSlopes, hasDocuments, hasSinks, hasStarts; // 1: they are read
  int32_t biasSizes[4];    // samples, heads, queries and keys of bias, or 1; 0: none
  int32_t hasBiasGradient; // 1: dbias is written

  // Dropout, if the kernel has it; step 0 is evaluation.
  float keptScale;     // 1 / (1 - p), 0 for p = 1
  uint32_t dropoutId;  // the number of this dropout in the model
  uint64_t keptFrom;   // least random word that is kept
  const int64_t *seed; // in device memory, as the step
  const float *step;
  // position of this rank's heads and batch in the whole
  int64_t firstBatch, firstHead, totalHeads;
};

} // namespace dtc::cuda
