// Attention of a rank that has part of the queries, by which the keys of all ranks pass.
#pragma once

#include "passes/shard/AttentionParts.h"
#include "passes/shard/Mesh.h"

namespace dtc {

// Attention of one rank's part of the queries. In step i of n the rank has the keys and values of
// the i-th rank before it, which it sends on to the next rank while it computes with them; so it
// holds two ranks' at a time. What the steps make is joined in f32.
//
// A causal rank has two runs of neighbouring tokens, of C each, in zigzag order, and so has every
// part that passes by. In step 0 both runs are one, which is plain causal attention. The keys of a
// rank before it, by its place, are all in front of its second run, and the first C in front of its
// first one; those of a rank behind it are behind its first run, and all in front of the second
// one. So the first run sees C keys or none, the second one C or 2 C: lengths that a rank finds
// from its coordinate. All ranks have as many pairs of queries and keys in each step.
//
// Where masks or scores count positions (PlacedAttention::isFor), each run and each of the two
// chunks of the keys is an attention that knows the positions of both, also in step 0, and masks
// decide what it sees. Kernels skip the rest.
//
// In the backward pass the sums of the gradients of the keys and values follow these in f32: the
// rank adds what its queries make and sends the sum on. After n - 1 steps it goes home, where the
// gradients of step 0 have waited. Source: Liu et al. 2023, arXiv:2310.01889.
class RingAttention {
public:
  // Keys and values of the rank.
  struct Keys {
    mlir::Value k, v;
  };
  struct Gradients {
    mlir::Value dq;
    AttentionParts::Sum dk, dv; // of the rank's own keys and values
    llvm::SmallVector<graph::AttentionGradOp, 4> steps;
  };

  // `axis` of the mesh splits the queries, as `split` says.
  RingAttention(mlir::OpBuilder &builder, mlir::Location loc, const Mesh &mesh, unsigned axis,
                const graph::DimSplit &split)
      : builder(builder), loc(loc), parts(builder, loc), axis(axis), ranks(mesh.sizes[axis]),
        split(split) {}

  // Returns what the rank has of the results of `op`. `sinks` may be null.
  AttentionParts::Result forward(graph::AttentionOp op, mlir::Value q, mlir::Value sinks, Keys keys,
                                 const AttentionParts::Scores &scores) const;
  // Returns what the rank has of the gradients of `op`.
  Gradients backward(graph::AttentionGradOp op, const AttentionParts::Saved &saved, Keys keys,
                     const AttentionParts::Scores &scores) const;

private:
  // The pass in which tensors go round: that of recomputed attention is not the gradient's.
  enum class Pass { Forward = 1, Backward };

  mlir::Value passOn(mlir::Value x, Pass pass) const;
  Keys passOn(const Keys &keys, Pass pass) const {
    return {passOn(keys.k, pass), passOn(keys.v, pass)};
  }
  void passOn(AttentionParts::Sum &sum) const;
  mlir::Value lengthsOf(mlir::Value q, int64_t step, int64_t run) const;
  int64_t runsOf(bool isCausal) const { return isCausal ? split.pieces : 1; }

  // A run of the queries and a chunk of the keys of one step.
  struct Pair {
    int64_t run, chunk;
  };
  llvm::SmallVector<Pair, 4> pairsOf(bool isCausal) const;
  mlir::Value positionsOf(mlir::Value q, int64_t step, const Pair &pair) const;
  Keys chunkOf(const Keys &keys, int64_t chunk) const;
  AttentionParts::Result forwardAt(graph::AttentionOp op, mlir::Value q, mlir::Value sinks,
                                   Keys keys, const AttentionParts::Scores &scores) const;
  Gradients backwardAt(graph::AttentionGradOp op, const AttentionParts::Saved &saved, Keys keys,
                       const AttentionParts::Scores &scores) const;
  AttentionParts::Sum wholeOf(llvm::ArrayRef<AttentionParts::Sum> chunks) const;
  void finish(Gradients &made, const AttentionParts::Sum &ownDk, const AttentionParts::Sum &ownDv,
              const Keys &keys) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  AttentionParts parts;
  unsigned axis;
  int64_t ranks;
  graph::DimSplit split;
};

} // namespace dtc
