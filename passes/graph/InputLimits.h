// What the integers of an input may be, as the model looks something up by them.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc {

struct InputLimit {
  int64_t below = 0;              // indices are from 0 to below this; 0: nothing is looked up
  std::optional<int64_t> ignored; // or this one, which every op that uses them leaves out
};

// The smallest limit of all ops that an input of `func` reaches, through blocks and ops that move
// integers.
InputLimit findInputLimit(graph::FuncOp func, unsigned argument);

} // namespace dtc
