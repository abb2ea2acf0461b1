// Names of the attributes of compressed gradients.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Unit attribute of a graph.state: its first dim counts the ranks of data parallelism, each of
// which has its own part; the other dims are those of its parameter.
constexpr llvm::StringLiteral kByRankAttr = "graph.by_rank";
// Unit attribute of a graph.state: it has a shape of its own, and every rank has all of it.
constexpr llvm::StringLiteral kOwnShapeAttr = "graph.own_shape";
// Unit attribute of a graph.parameter: the ranks of data parallelism do not sum its gradient, but
// exchange what '@update' makes of their addends.
constexpr llvm::StringLiteral kCompressedAttr = "graph.compressed";
// Unit attribute of an op of '@update': ranks sum its result as they sum gradients.
constexpr llvm::StringLiteral kExchangedAttr = "graph.exchanged";
// Unit attribute of an op of '@update': its result is the sum that ranks have in place of that of a
// compressed gradient.
constexpr llvm::StringLiteral kDecompressedAttr = "graph.decompressed";

} // namespace dtc::graph
