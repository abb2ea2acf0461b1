// Launches of the embedding look-up and its gradient; semantics as kernels/cpu/Kernels.h says.
#pragma once

#include "kernels/cuda/EmbeddingParams.h"
#include "kernels/cuda/Launch.h"

#include <vector>

namespace dtc::cuda {

// Set what the kernel needs beside sizes and pointers, and `launches`; none where there is nothing to
// write. Tensors begin at multiples of 16 bytes. No scratch. Return what is wrong, or nothing.
[[nodiscard]] std::string planEmbedding(ElementType type, EmbeddingParams &params,
                                        std::vector<Launch> &launches);
[[nodiscard]] std::string planEmbeddingGrad(ElementType type, EmbeddingGradParams &params,
                                            std::vector<Launch> &launches);

} // namespace dtc::cuda
