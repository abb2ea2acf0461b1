// The one parameter of the embedding kernels. Plain data, the same for host and device.
#pragma once

#include <stdint.h>

namespace dtc::cuda {

struct EmbeddingParams {
  const void *table; // [rows, columns]
  const int32_t *ids;
  void *out; // [tokens, columns]
  int64_t rows, columns, tokens, firstRow;
  int64_t rowUnits; // of a row, as the kernel copies it; planEmbedding sets it
};

struct EmbeddingGradParams {
  float *grad; // [rows, columns]
  const int32_t *ids;
  const void *dout; // [tokens, columns]
  int64_t rows, columns, tokens, firstRow;
  int32_t accumulate;   // 0: grad is written, not added to
  int32_t rowsPerBlock; // planEmbeddingGrad sets it
  // The row of grad to which nothing is added; a negative one is none of its rows.
  int64_t skippedRow = -1;
};

} // namespace dtc::cuda
