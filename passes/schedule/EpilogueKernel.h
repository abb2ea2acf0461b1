// The epilogue that a kernel applies to the result of a matrix product.
#pragma once

#include "dialects/graph/Graph.h"

#include <optional>

namespace dtc {

// An epilogue; operands and results of the kernel are given by number.
struct EpilogueKernel {
  std::optional<unsigned> bias, addend; // addends: a row that is added to each row, a whole matrix
  // the operand at which the derivative of GELU is taken, as a factor
  std::optional<unsigned> geluOf;
  bool gelu = false;              // applies GELU to the sum
  std::optional<unsigned> sum;    // the result that is the sum
  std::optional<unsigned> result; // the result after GELU or its derivative

  // Returns the result that every epilogue has.
  unsigned main() const { return result ? *result : *sum; }
};

// Returns the epilogue that `kernel` applies to its operand `product`, rows of `columns` elements;
// nullopt if the kernel computes anything else.
//
// Example: for the kernel `%0 = graph.add %arg0, %arg1; %1 = graph.gelu tanh %0; return %0, %1` and
// operand 0, the bias is operand 1, sum is 0 and result is 1.
std::optional<EpilogueKernel> readEpilogue(graph::FuncOp kernel, unsigned product, int64_t columns);

} // namespace dtc
