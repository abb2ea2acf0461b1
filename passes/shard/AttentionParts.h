// Attention over keys that come in parts, each of which is an attention of its own.
#pragma once

#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/Placement.h"

namespace dtc {

// Builds attentions of some of the keys, joins their results in f32, and adds up their gradients.
// With the sums of exponentials lse, s = sigmoid(lse_b - lse_a) is the share of the part b:
//   out = out_a + s (out_b - out_a),  lse = lse_b - log s
// Gradients of a part are those of its attention with the joined out and lse, whose scores are the
// same. Source: Dao 2023, arXiv:2307.08691; Liu et al. 2023, arXiv:2310.01889.
class AttentionParts {
public:
  // Results of attention: out [batch, queries, heads, head_dim] and lse f32 [batch, heads,
  // queries].
  struct Result {
    mlir::Value out, lse;
  };
  // Operands of the gradient that are of the queries; `dlse` may be null.
  struct Saved {
    mlir::Value q, out, lse, dout, dlse;
  };
  // Operands that are of samples or heads, and whole on each rank along the sequence; null ones are
  // not there.
  struct Scores {
    mlir::Value lengths, slopes;
  };
  // A sum of gradients, and the ops that make it.
  struct Sum {
    mlir::Value value;
    llvm::SmallVector<mlir::Operation *, 4> ops;
  };

  // Returns the sizes of a tensor's dims.
  static llvm::ArrayRef<int64_t> shapeOf(mlir::Value tensor) {
    return mlir::cast<mlir::RankedTensorType>(tensor.getType()).getShape();
  }
  // Returns the type of a tensor's elements.
  static mlir::Type elementOf(mlir::Value tensor) {
    return mlir::cast<mlir::RankedTensorType>(tensor.getType()).getElementType();
  }

  AttentionParts(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  // Attention like `op` of other operands, without its masks: `lengths` [batch], if there, hides
  // the keys from there on. `sinks` [heads] may be null; they are of one part alone, so that the
  // joined lse has them once.
  Result attend(graph::AttentionOp op, mlir::Value q, mlir::Value k, mlir::Value v,
                mlir::Value sinks, mlir::Value lengths, bool isCausal) const;
  // The gradient of such an attention.
  graph::AttentionGradOp attendBack(graph::AttentionGradOp op, const Saved &saved, mlir::Value k,
                                    mlir::Value v, mlir::Value lengths, bool isCausal) const;

  // Attention like `op` of other operands, with its masks and scores by the positions `starts` [2]
  // of the first query and key. `sinks` may be null.
  Result attendAt(graph::AttentionOp op, mlir::Value q, mlir::Value k, mlir::Value v,
                  mlir::Value sinks, const Scores &scores, mlir::Value starts) const;
  // The gradient of such an attention.
  graph::AttentionGradOp attendBackAt(graph::AttentionGradOp op, const Saved &saved, mlir::Value k,
                                      mlir::Value v, const Scores &scores,
                                      mlir::Value starts) const;

  // Joins two parts, out in f32. Of any query `b` has seen a key, `a` may have seen none.
  Result join(const Result &a, const Result &b) const;

  // Adds `value` to a sum in f32, which may be empty.
  void add(Sum &sum, mlir::Value value) const;
  // Rounds a sum to an element type.
  void round(Sum &sum, mlir::Type element) const;

  // Returns `x` in another element type; `x` itself if it has that.
  mlir::Value as(mlir::Value x, mlir::Type element) const;
  // Returns `x` with another shape of as many elements.
  mlir::Value shaped(mlir::Value x, llvm::ArrayRef<int64_t> shape) const;
  // Returns part `index` of `count` equal ones of a dim; `x` itself if there is but one.
  mlir::Value partOf(mlir::Value x, int64_t dim, int64_t index, int64_t count) const;
  // Joins the parts of a dim again.
  mlir::Value joined(llvm::ArrayRef<mlir::Value> parts, int64_t dim) const;
  // Returns the parts of operands of the queries.
  Saved partOf(const Saved &saved, int64_t index, int64_t count) const;

  // Returns i32 [samples]: the position at which piece `piece` of the rank's `tokens` begins under
  // `split`, plus `offset`; no less and no more than the two numbers of `within`, if there are any.
  // `turned`, if there, says which other chunk counts for it; see graph.chunk_starts.
  mlir::Value startsOf(const graph::DimSplit &split, int64_t samples, int64_t tokens, int64_t piece,
                       int64_t offset = 0, llvm::ArrayRef<int64_t> within = {},
                       llvm::ArrayRef<int64_t> turned = {}) const;

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace dtc
