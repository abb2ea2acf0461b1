// The mark of tensors and ops that are in host memory.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// On a graph.state: it is kept in host memory. On an op of '@update': it runs on the host, and its
// operands and results are there. On a kernel function: all its calls are such ops.
inline constexpr llvm::StringLiteral kHostAttr = "graph.host";

} // namespace dtc::graph
