// Launches of the embedding look-up and its gradient; kernels/cpu/Embedding.h defines the
// semantics.
#pragma once

#include "kernels/cuda/EmbeddingParams.h"
#include "kernels/cuda/Launch.h"

#include <vector>

namespace dtc::cuda {

// Sets the derived fields of `params`, and `launches`; none if there is nothing to write. Tensors
// must begin at multiples of 16 bytes. Needs no scratch. Returns an error message, or "".
[[nodiscard]] std::string planEmbedding(ElementType type, EmbeddingParams &params,
                                        std::vector<Launch> &launches);
// Sets the launches of the gradient; see planEmbedding.
[[nodiscard]] std::string planEmbeddingGrad(ElementType type, EmbeddingGradParams &params,
                                            std::vector<Launch> &launches);

} // namespace dtc::cuda
