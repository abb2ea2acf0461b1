// Launches of attention and its gradients; kernels/cpu/AttentionArgs.h and dte.fbs define the
// semantics.
#pragma once

#include "kernels/cuda/AttentionParams.h"
#include "kernels/cuda/Launch.h"

#include <vector>

namespace dtc::cuda {

// Returns the strides of [batch, tokens, heads, headDim] without gaps.
HeadStrides denseStrides(int64_t tokens, int64_t heads, int64_t headDim);

// Sets the dropout of weights with probability `dropout`; 0 chooses kernels without dropout, which
// read neither seed nor step.
void setDropout(AttentionParams &params, float dropout);

// Sets `launches`, one after another on one stream; none if there is nothing to write. Kernels
// follow from sizes, strides and type alone, so pointers may still be null. Needs no scratch except
// delta. Returns an error message, or "".
//
// Example: f32, 100 queries, 8 heads of 64, batch 2: AttentionGeneral_forward_f32_64, 2 * 8 * 2
// blocks of 256 threads.
[[nodiscard]] std::string planAttention(ElementType type, const AttentionParams &params,
                                        std::vector<Launch> &launches);
// Sets the launches of the gradients; see planAttention.
[[nodiscard]] std::string planAttentionGrad(ElementType type, const AttentionParams &params,
                                            std::vector<Launch> &launches);

} // namespace dtc::cuda
