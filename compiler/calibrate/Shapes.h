// What is measured: shapes of training steps.
#pragma once

#include "compiler/topology/Calibration.h"

namespace dtc {

struct ProductShape {
  int64_t m, n, k, batch;
  bool transA, transB;
};

struct AttentionShape {
  int64_t sequence, headDim;
  bool causal;
};

struct CalibrationShapes {
  std::vector<ProductShape> products;
  std::vector<int64_t> memoryBytes;      // read and written
  std::vector<AttentionShape> attention; // each forward and backward
  std::vector<int64_t> collectiveBytes;  // of the whole tensor, before rounding to the ranks

  size_t deviceRuns() const {
    return products.size() + memoryBytes.size() * numMemoryPatterns + 2 * attention.size() + 1;
  }
  size_t collectiveRuns() const { return collectiveBytes.size() * numCollectiveKinds; }
};

// Products in the forms that a linear layer has: forward [tokens, in] x [out, in]^T, gradient of
// the input, gradient of the weight; and those of heads. No two have the same m, n, k and batch.
// `quick`: the few that matter most.
CalibrationShapes calibrationShapes(bool quick);

// The numbers of processes to measure on a machine of `cores`: its divisors from 2, at most four,
// the greatest among them. Example: 12 gives {2, 4, 6, 12}; 1 gives {}.
std::vector<int64_t> rankCounts(int64_t cores);

} // namespace dtc
