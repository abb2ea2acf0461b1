// Name of the attribute of ops of further rounds of rows of experts.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Unit attribute of an op: it computes for the rows of a round behind the first (graph.round_rows)
// what another op computes for those of the first, or is of the gradient of such an op.
constexpr llvm::StringLiteral kLaterRoundAttr = "graph.later_round";

} // namespace dtc::graph
