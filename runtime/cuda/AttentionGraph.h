// Attention and its gradient as graphs of cuDNN's operations: the patterns that its fused engines
// support, as NVIDIA's cudnn-frontend 1.2x writes them (node/scaled_dot_product_flash_attention.h).
#pragma once

#include "kernels/cuda/AttentionParams.h"
#include "kernels/cuda/Launch.h"
#include "runtime/cuda/CudnnGraph.h"

#include <string>

namespace dtc::rt {

// An attention of a program, or a gradient of one.
struct AttentionCase {
  ElementType type = ElementType::F32;
  bool isGradient = false;
  // only the pointers depend on the device
  cuda::AttentionParams params{};
};

// True if the patterns support the case: 16-bit tensors with starts and strides at multiples of 16
// bytes, head dims that are multiples of 8 up to 128, each query sees a key, no dropout, no window,
// no soft cap, no gradient of lse.
bool isCudnnCase(const AttentionCase &attention);

// Describes everything that decides how the attention is computed; equal cases have equal
// descriptions.
std::string describeAttention(const AttentionCase &attention);

// Builds the case in an empty graph, and finishes the graph. The error names the call that cuDNN
// refused.
Status buildAttention(const AttentionCase &attention, CudnnGraph &graph);

// Returns the addresses of its tensors.
CudnnPointers pointersOf(const AttentionCase &attention);

// Returns the number of multiplications and additions.
double flopsOf(const AttentionCase &attention);

} // namespace dtc::rt
