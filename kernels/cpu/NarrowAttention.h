// Attention of 16-bit numbers on the CPU device.
#pragma once

#include "kernels/common/ElementType.h"
#include "kernels/cpu/AttentionArgs.h"

namespace dtc::cpu {

class ThreadPool;

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
  float *dbias = nullptr;      // see AttentionGradArgs
};
// Computes attention of 16-bit tensors.
void narrowAttention(const AttentionArgs &args, const NarrowTensors &tensors, ThreadPool &pool);
// Computes the gradients of attention of 16-bit tensors. scratch: f32 [batch, heads, queries].
void narrowAttentionGrad(const AttentionArgs &args, const NarrowTensors &tensors, float *scratch,
                         ThreadPool &pool);

} // namespace dtc::cpu
