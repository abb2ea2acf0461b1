// The one parameter of attention's kernels. Plain data, the same for host and device.
#pragma once

#include <stdint.h>

namespace dtc::cuda {

// Where [batch, tokens, heads, headDim] lies: elements from one to the next, 1 within a head.
struct HeadStrides {
  int64_t batch, token, head;
};

// Tensors of the kernel's type, but for lse and delta, f32 [batch, heads, queries]. Query head h
// reads kv head h / (heads / kvHeads).
struct AttentionParams {
  const void *q, *k, *v;
  void *out;
  float *lse;
  // Of the gradient alone. delta: scratch for rowsum(dout * out).
  const void *dout;
  void *dq, *dk, *dv;
  float *delta;

  HeadStrides qStrides, kStrides, vStrides, outStrides, doutStrides, dqStrides, dkStrides,
      dvStrides;
  int32_t batch, queries, keys, heads, kvHeads, headDim;
  int32_t causal; // 1: query i sees keys j <= i + keys - queries
  int32_t window; // of them the last so many; 0: all. Causal only.
  float scale;

  // Dropout, where the kernel has it; step 0 is evaluation.
  float keptScale;     // 1 / (1 - p), 0 for p = 1
  uint32_t dropoutId;  // which dropout of the model
  uint64_t keptFrom;   // least random word that is kept
  const int64_t *seed; // in device memory, as the step is
  const float *step;
  int64_t firstBatch, firstHead, totalHeads; // place of this rank's part in the whole
};

} // namespace dtc::cuda
