// Names that only the schedule of a pipeline stage reads; the others are in Attributes.h.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Attribute of the module of a stage (graph.stage): its runs in order, array<i64> of triples (kind,
// chunk, micro-batch). Kind is 0 for forward, 1 for backward, 2 for gradients of weights if 1 omits
// them.
constexpr llvm::StringLiteral kOrderAttr = "graph.order";

} // namespace dtc::graph
