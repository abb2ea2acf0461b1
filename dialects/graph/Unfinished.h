// The mark of partial sums in a rank's program.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Attribute of an op on a rank's shards, DenseI64ArrayAttr: for each result a bit mask of the mesh
// axes along which ranks hold addends of a sum (or candidates for a maximum) that a collective has
// yet to combine. Partitioning sets it if there are such axes; `dtc verify` proves that readers of
// the result handle it.
inline constexpr llvm::StringLiteral kUnfinishedAttr = "graph.unfinished";

} // namespace dtc::graph
