// Names that batch norm writes and the cost model reads; the others are in Attributes.h.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Unit attribute of a graph.reduce: a sum over the samples of all ranks of data parallelism, which
// they exchange in the middle of a pass.
constexpr llvm::StringLiteral kStatisticAttr = "graph.statistic";

} // namespace dtc::graph
