// The only parameter of the kernels of grouped products. Plain data, the same for host and device.
#pragma once

#include <stdint.h>

namespace dtc::cuda {

// The products of kernels/cpu/GroupedGemm.h, where the fields are described.
struct GroupedGemmParams {
  const void *a, *b;
  void *c;
  const int32_t *counts; // [samples, groups]
  int32_t groups, samples, rows, k, n;
  int32_t transB, sumsRows, accumulate;
  // The number of tiles along the rows and the columns of a result, or of a group's result with
  // `sumsRows`; planGroupedGemm sets them.
  int32_t rowTiles, columnTiles;
};

} // namespace dtc::cuda
