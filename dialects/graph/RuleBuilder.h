// Helps the ops to write their rules (Rule.h).
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc::graph {

// Collects loops and the dims that they make up.
// Example, a sum over the last dim of x[8,16]:
//   RuleBuilder b(op);
//   auto rows = b.loops(x, 0, 1);
//   auto last = b.loop(16, LoopKind::Sum);
//   b.operand(rows + last);
//   b.result(rows);
class RuleBuilder {
public:
  // Loop of `size` points; a dim made of it alone.
  DimLoops loop(int64_t size, LoopKind kind = LoopKind::Parallel);
  // One loop per dim in [begin, end) of `value`; end -1 means all dims.
  TensorLoops loops(mlir::Value value, int64_t begin = 0, int64_t end = -1,
                    LoopKind kind = LoopKind::Parallel);
  RuleBuilder &operand(TensorLoops dims);
  RuleBuilder &result(TensorLoops dims);
  // Adds loopless operands until there is one entry per operand of `op`.
  RuleBuilder &scalars(mlir::Operation *op);
  RuleBuilder &indexed(const TensorLoops &dims);
  RuleBuilder &fed(const TensorLoops &dims);
  RuleBuilder &sequence(const TensorLoops &dims);
  RuleBuilder &channels(const TensorLoops &dims);
  RuleBuilder &flops(double perPoint);
  RuleBuilder &kind(OpKind kind);
  // A matrix product of the operands and the result added so far.
  RuleBuilder &product();
  // Attention, whose queries, keys and head dimension are these loops.
  RuleBuilder &attention(double flopsPerPoint, DimLoops queries, DimLoops keys, DimLoops head);
  RuleBuilder &gradient();
  RuleBuilder &composite();
  RuleBuilder &zeroPreserving(bool value = true);
  RuleBuilder &linear();
  OpRule take() { return std::move(rule); }

private:
  RuleBuilder &addTo(llvm::SmallVector<unsigned, 2> &loops, const TensorLoops &dims);

  OpRule rule;
};

// The dims of `a` followed by those of `b`.
TensorLoops operator+(TensorLoops a, const TensorLoops &b);

// The rule of an op whose one iteration space is its result: result 0 has one loop per dim,
// operands broadcast to it. Further results have the same shape.
OpRule pointwiseRule(mlir::Operation *op, double flopsPerPoint, bool zeroPreserving);

// Of the dims [batch, ...] of token ids those that are the sequence: all but the samples'.
TensorLoops sequenceOfTokens(const TensorLoops &tokens);

// Marks as fed the loops that operand `operand` lacks: it is added to results even where the others
// are padding.
OpRule fedBy(OpRule rule, unsigned operand);

// The loops that two shapes of the same elements share, outermost first: 4x6 and 24 give loops 4, 6
// with {0},{1} and {0,1}. Parts that do not factor become Whole loops. Fails when the shapes cannot
// hold the same elements.
struct ReshapeLoops {
  llvm::SmallVector<Loop, 8> loops;
  TensorLoops from, to;
};
llvm::FailureOr<ReshapeLoops> factorReshape(llvm::ArrayRef<int64_t> from,
                                            llvm::ArrayRef<int64_t> to);

} // namespace dtc::graph
