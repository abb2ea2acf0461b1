// Attention of a rank that has part of the queries.
#pragma once

#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/Placement.h"

namespace dtc {

// Causal attention of one rank's part of the queries, a run of neighbours. It sees all keys in
// front of the part, whose number it finds from its coordinates (graph.chunk_starts), and of its
// own part those up to each query. These are two attentions; the first is not causal and has a
// length. With their sums of exponentials lse, s = sigmoid(lse_own - lse_before) is the share of
// the own keys:
//   out = out_before + s (out_own - out_before),  lse = lse_own - log s
// in f32. Sinks are of the own part alone, so that lse has them once. Gradients are those of both,
// with the joined out and lse, whose scores are the same.
// Source: Dao 2023, arXiv:2307.08691; Liu et al. 2023, arXiv:2310.01889.
class SplitAttention {
public:
  // Keys and values of the whole sequence, and the rank's part of them.
  struct Keys {
    mlir::Value all, allValues, own, ownValues;
  };
  struct Result {
    mlir::Value out, lse;
  };
  // Both ops make gradients of the queries, whose sum is `dq`.
  struct Gradients {
    mlir::Value dq;
    graph::AttentionGradOp before, own;
  };

  // `split` says which axes split the queries.
  SplitAttention(mlir::OpBuilder &builder, mlir::Location loc, const graph::DimSplit &split)
      : builder(builder), loc(loc), split(split) {}

  // Returns what the rank has of the results of `op`. `sinks` may be null.
  Result forward(graph::AttentionOp op, mlir::Value q, mlir::Value sinks, const Keys &keys) const;
  // The operands of the gradient that are of the rank's part; `dlse` may be null.
  struct Saved {
    mlir::Value q, out, lse, dout, dlse;
  };
  // Returns what the rank has of the gradients of `op`.
  Gradients backward(graph::AttentionGradOp op, const Saved &saved, const Keys &keys) const;

private:
  mlir::Value lengthsOf(mlir::Value q) const;
  mlir::Value inF32(mlir::Value x) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  graph::DimSplit split;
};

} // namespace dtc
