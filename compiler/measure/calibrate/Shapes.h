// The shapes of training steps that are measured.
#pragma once

#include "compiler/describe/topology/Calibration.h"

namespace dtc {

// A batch of matrix products, with the operands that are transposed.
struct ProductShape {
  int64_t m, n, k, batch;
  bool transA, transB;
};

// An attention layer with causal mask or without.
struct AttentionShape {
  int64_t sequence, headDim;
  bool causal;
};

// All shapes and sizes to measure.
struct CalibrationShapes {
  std::vector<ProductShape> products;
  std::vector<int64_t> memoryBytes;      // read and written
  std::vector<AttentionShape> attention; // each is measured forward and backward
  std::vector<int64_t> collectiveBytes;  // of the whole tensor, before rounding to the ranks

  // Returns the number of measurements on one device, the launch included.
  size_t deviceRuns() const {
    return products.size() + memoryBytes.size() * numMemoryPatterns + 2 * attention.size() + 1;
  }
  // Returns the number of measurements of collectives.
  size_t collectiveRuns() const { return collectiveBytes.size() * numCollectiveKinds; }
};

// Returns products in the forms of a linear layer (forward [tokens, in] x [out, in]^T, gradient of
// the input, gradient of the weight) and of heads, and all other sizes. No two products have the
// same m, n, k and batch. `quick` keeps only those that matter most.
CalibrationShapes calibrationShapes(bool quick);

// Returns the numbers of processes to measure on a machine of `cores`: its divisors from 2, at most
// four of them, the greatest among them. Example: 12 gives {2, 4, 6, 12}; 1 gives {}.
std::vector<int64_t> rankCounts(int64_t cores);

} // namespace dtc
