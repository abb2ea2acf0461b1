// What a kernel does to the result of a product, where a product could do it itself.
#pragma once

#include "dialects/graph/Graph.h"

#include <optional>

namespace dtc {

// Operands and results of the kernel, by number.
struct EpilogueKernel {
  std::optional<unsigned> bias, addend; // what it adds: a row to each row, a whole matrix
  std::optional<unsigned> geluOf;       // at which it takes the derivative of GELU, to multiply by
  bool gelu = false;                    // it takes GELU of the sum
  std::optional<unsigned> sum;          // the result that is the sum
  std::optional<unsigned> result;       // the result behind GELU or its derivative

  // The one result that every epilogue has.
  unsigned main() const { return result ? *result : *sum; }
};

// What `kernel` does to its operand `product`, which are rows of `columns` elements; nothing where it does anything else besides.
//
// Example: of the kernel `%0 = graph.add %arg0, %arg1; %1 = graph.gelu tanh %0; return %0, %1` and operand 0 the bias is operand
// 1, sum is 0 and result 1.
std::optional<EpilogueKernel> readEpilogue(graph::FuncOp kernel, unsigned product, int64_t columns);

} // namespace dtc
