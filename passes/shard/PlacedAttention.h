// Attention of a rank that has part of the queries and all keys, by the positions of both.
#pragma once

#include "passes/shard/AttentionParts.h"

namespace dtc {

// Attention whose masks or scores depend on positions beyond causality: windows, prefixes, slopes,
// lengths beside a causal mask. Each run of neighbours among the rank's queries, of which there are
// two where tokens are in zigzag order, is one attention over all keys, which knows the position of
// its first query (`starts` of graph.attention). Kernels skip the keys that a run does not see.
class PlacedAttention {
public:
  // Gradients of the rank's queries, and of all keys and values as far as these queries make them.
  struct Gradients {
    mlir::Value dq;
    AttentionParts::Sum dk, dv;
    llvm::SmallVector<graph::AttentionGradOp, 2> runs;
  };

  // `split` says how the ranks split the queries.
  PlacedAttention(mlir::OpBuilder &builder, mlir::Location loc, const graph::DimSplit &split)
      : parts(builder, loc), split(split) {}

  // Returns true if an attention or its gradient has masks or scores of that kind.
  static bool isFor(mlir::Operation *attention);

  // Returns what the rank has of the results of `op`. `sinks` may be null.
  AttentionParts::Result forward(graph::AttentionOp op, mlir::Value q, mlir::Value k, mlir::Value v,
                                 mlir::Value sinks, const AttentionParts::Scores &scores) const;
  // Returns what the rank has of the gradients of `op`.
  Gradients backward(graph::AttentionGradOp op, const AttentionParts::Saved &saved, mlir::Value k,
                     mlir::Value v, const AttentionParts::Scores &scores) const;

private:
  mlir::Value startsOf(mlir::Value q, int64_t run) const;

  AttentionParts parts;
  graph::DimSplit split;
};

} // namespace dtc
