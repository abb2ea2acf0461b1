// Which values of a rank's program are parts of sums that ranks have yet to finish.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Of an op on a rank's parts, DenseI64ArrayAttr: for each result the mesh axes, a bit each, along which
// ranks hold addends of a sum (or of a maximum what they found themselves) that a collective has yet
// to make one of. Partitioning sets it where there are such axes; `dtc verify` proves that what
// reads the result knows it.
inline constexpr llvm::StringLiteral kUnfinishedAttr = "graph.unfinished";

} // namespace dtc::graph
