// Attention of a rank that has part of the queries and all keys.
#pragma once

#include "passes/shard/AttentionParts.h"

namespace dtc {

// Causal attention of one rank's part of the queries: of one run of neighbours, or of two where
// tokens are in zigzag order. Each run sees all keys in front of it, whose number the rank finds
// from its coordinates (graph.chunk_starts), and of its own keys those up to each query. These are
// two attentions; the first is not causal and has a length.
class SplitAttention {
public:
  // Keys and values of the whole sequence in its order, and the rank's part of them.
  struct Keys {
    mlir::Value all, allValues, own, ownValues;
  };
  // Gradients of the queries, of all keys and values, and of the rank's own ones. All attentions
  // make gradients of the queries, whose sum is `dq`.
  struct Gradients {
    mlir::Value dq;
    AttentionParts::Sum dk, dv;
    llvm::SmallVector<graph::AttentionGradOp, 2> before;
    graph::AttentionGradOp own;
    mlir::Value ownDk, ownDv;
  };

  // `split` says how the ranks split the queries.
  SplitAttention(mlir::OpBuilder &builder, mlir::Location loc, const graph::DimSplit &split)
      : parts(builder, loc), split(split) {}

  // Returns what the rank has of the results of `op`. `sinks` may be null.
  AttentionParts::Result forward(graph::AttentionOp op, mlir::Value q, mlir::Value sinks,
                                 const Keys &keys) const;
  // Returns what the rank has of the gradients of `op`.
  Gradients backward(graph::AttentionGradOp op, const AttentionParts::Saved &saved,
                     const Keys &keys) const;

private:
  mlir::Value lengthsOf(mlir::Value q, int64_t piece) const;
  mlir::Value apart(mlir::Value x) const;
  mlir::Value apartLse(mlir::Value lse) const;

  AttentionParts parts;
  graph::DimSplit split;
};

} // namespace dtc
