// Attention and its gradient as graphs of cuDNN's operations: the patterns that its fused engines know, as NVIDIA's
// cudnn-frontend 1.2x writes them (node/scaled_dot_product_flash_attention.h).
#pragma once

#include "kernels/cuda/AttentionParams.h"
#include "kernels/cuda/Launch.h"
#include "runtime/cuda/CudnnGraph.h"

#include <string>

namespace dtc::rt {

// One of a program's attentions, or gradients of one.
struct AttentionCase {
  cuda::ElementType type = cuda::ElementType::F32;
  bool isGradient = false;
  // What of it depends on where it runs are its pointers alone.
  cuda::AttentionParams params{};
};

// Whether the patterns are for it: 16-bit tensors that begin and go on at multiples of 16 bytes, head dims that are multiples of
// 8 up to 128, each query with a key that it sees, no dropout, no window.
bool isCudnnCase(const AttentionCase &attention);

// All that decides how it is done, in words: alike ones are alike in them.
std::string describeAttention(const AttentionCase &attention);

// Adds it to an empty graph, and finishes that. The error names what cuDNN refused.
Status buildAttention(const AttentionCase &attention, CudnnGraph &graph);

// Where its tensors are.
CudnnPointers pointersOf(const AttentionCase &attention);

// Multiplications and additions.
double flopsOf(const AttentionCase &attention);

} // namespace dtc::rt
