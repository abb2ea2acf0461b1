// Attention of f32 on the CPU device.
#pragma once

#include "kernels/cpu/AttentionArgs.h"

namespace dtc::cpu {

class ThreadPool;

// Computes out and lse of `args`.
void attention(const AttentionArgs &args, ThreadPool &pool);

// Computes dq, dk, dv and dbias of `args`.
void attentionGrad(const AttentionGradArgs &args, ThreadPool &pool);

} // namespace dtc::cpu
