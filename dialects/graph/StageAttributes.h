// Names of what only the schedule of a pipeline's stage reads; the others are in Attributes.h.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Of the module of a stage (graph.stage): what it runs, array<i64> of triples (kind, chunk, micro-batch), kind 0 for
// forward, 1 for backward, 2 for gradients of weights where 1 leaves them out.
constexpr llvm::StringLiteral kOrderAttr = "graph.order";

} // namespace dtc::graph
