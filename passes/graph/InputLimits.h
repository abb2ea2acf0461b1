// The valid range of an integer input, from the ops that use it as an index.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc {

// The values that the elements of an input may have.
struct InputLimit {
  // indices are at least 0 and less than this; 0: the input is not used as an index
  int64_t below = 0;
  std::optional<int64_t> ignored; // a further value, which every op that uses the input ignores
};

// Returns the smallest limit of all ops that an input of `func` reaches, through blocks and ops
// that move integers.
InputLimit findInputLimit(graph::FuncOp func, unsigned argument);

} // namespace dtc
