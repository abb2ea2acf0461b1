// What is in the memory of a device's host.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Of a graph.state: it is kept in the host's memory. Of an op of '@update': it runs on the host, and
// its operands and results are there. Of a kernel function: all calls of it are such ops.
inline constexpr llvm::StringLiteral kHostAttr = "graph.host";

} // namespace dtc::graph
