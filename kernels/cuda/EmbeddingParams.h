// The only parameters of the embedding kernels. Plain data, the same for host and device.
#pragma once

#include <stdint.h>

namespace dtc::cuda {

// The parameter of the look-up.
struct EmbeddingParams {
  const void *table; // [rows, columns]
  const int32_t *ids;
  void *out; // [tokens, columns]
  int64_t rows, columns, tokens, firstRow;
  int64_t rowUnits; // units of a row, as the kernel copies it; planEmbedding sets it
};

// The parameter of the gradient.
struct EmbeddingGradParams {
  float *grad; // [rows, columns]
  const int32_t *ids;
  const void *dout; // [tokens, columns]
  int64_t rows, columns, tokens, firstRow;
  int32_t accumulate;   // 0: grad is overwritten
  int32_t rowsPerBlock; // planEmbeddingGrad sets it
  // The row of grad to which nothing is added; negative for none.
  int64_t skippedRow = -1;
};

} // namespace dtc::cuda
