// Names of what concerns state and sums over the batch; the others are in Attributes.h.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Attribute of a graph.parameter: the `rate` of the graph.observe by which it moves (f64).
constexpr llvm::StringLiteral kRateAttr = "graph.rate";
// Attribute of a graph.parameter: the micro-batches that a step has, each of which adds the same
// value to that which the state takes (graph.observe last; i64).
constexpr llvm::StringLiteral kCopiesAttr = "graph.copies";
// Attribute of a graph.state: the elements along the last dim of its parameter of each of which it
// has one number (i64).
constexpr llvm::StringLiteral kBlockAttr = "graph.block";
// Unit attribute of an op: it computes in f32 in every precision, and so does the parameter that it
// multiplies by stay in f32.
constexpr llvm::StringLiteral kWideAttr = "graph.wide";
// Unit attribute of a graph.reduce: a sum over the samples of all ranks of data parallelism, which
// they all-reduce in the middle of a pass.
constexpr llvm::StringLiteral kStatisticAttr = "graph.statistic";

} // namespace dtc::graph
