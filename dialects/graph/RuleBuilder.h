// Builds the rules of ops (Rule.h).
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc::graph {

// Collects loops and the dims that they make up.
//
// Example, a sum over the last dim of x[8,16]:
//   RuleBuilder b(op);
//   auto rows = b.loops(x, 0, 1);
//   auto last = b.loop(16, LoopKind::Sum);
//   b.operand(rows + last);
//   b.result(rows);
class RuleBuilder {
public:
  // Adds a loop of `size` points and returns a dim made of it alone.
  DimLoops loop(int64_t size, LoopKind kind = LoopKind::Parallel);
  // Adds one loop per dim in [begin, end) of `value`; end -1 means all dims.
  TensorLoops loops(mlir::Value value, int64_t begin = 0, int64_t end = -1,
                    LoopKind kind = LoopKind::Parallel);
  // Adds the dims of the next operand.
  RuleBuilder &operand(TensorLoops dims);
  // Adds the dims of the next operand, which is complete and keeps its type
  // (OpRule::completeOperands).
  RuleBuilder &completeOperand(TensorLoops dims);
  // Adds the dims of the next result.
  RuleBuilder &result(TensorLoops dims);
  // Adds loopless operands until there is one entry per operand of `op`.
  RuleBuilder &scalars(mlir::Operation *op);
  // Marks the loops of these dims as indexed (OpRule::indexedLoops).
  RuleBuilder &indexed(const TensorLoops &dims);
  // Marks the loops of these dims as fed (OpRule::fedLoops).
  RuleBuilder &fed(const TensorLoops &dims);
  // Marks the loops of these dims as tokens of a sequence.
  RuleBuilder &sequence(const TensorLoops &dims);
  // Marks the loops of these dims as channels of a token.
  RuleBuilder &channels(const TensorLoops &dims);
  // Sets the flops per point.
  RuleBuilder &flops(double perPoint);
  // Sets the kind of the op.
  RuleBuilder &kind(OpKind kind);
  // Makes it a matrix product of the operands and the result added so far.
  RuleBuilder &product();
  // Makes it attention with these loops as queries, keys and head dimension.
  RuleBuilder &attention(double flopsPerPoint, DimLoops queries, DimLoops keys, DimLoops head);
  // Sets OpRule::isGradient.
  RuleBuilder &gradient();
  // Sets OpRule::isComposite.
  RuleBuilder &composite();
  // Sets OpRule::zeroPreserving.
  RuleBuilder &zeroPreserving(bool value = true);
  // Sets OpRule::jointlyLinear.
  RuleBuilder &linear();
  // Sets OpRule::jointlyLinear for all operands but one, as long as that is complete.
  RuleBuilder &linearBut(unsigned operand);
  // Returns the rule; the builder must not be used again.
  OpRule take() { return std::move(rule); }

private:
  RuleBuilder &addTo(llvm::SmallVector<unsigned, 2> &loops, const TensorLoops &dims);

  OpRule rule;
};

// Returns the dims of `a` followed by those of `b`.
TensorLoops operator+(TensorLoops a, const TensorLoops &b);

// Returns the rule of an op whose iteration space is its result: result 0 has one loop per dim,
// operands broadcast to it. Further results have the same shape.
OpRule pointwiseRule(mlir::Operation *op, double flopsPerPoint, bool zeroPreserving);

// Returns those of the dims [batch, ...] of token ids that are the sequence: all except the
// samples'.
TensorLoops sequenceOfTokens(const TensorLoops &tokens);

// Marks the loops that operand `operand` lacks as fed: it is added to results even where the other
// operands are padding.
OpRule fedBy(OpRule rule, unsigned operand);

// The loops that two shapes of the same elements share, outermost first: 4x6 and 24 give loops 4, 6
// with {0},{1} and {0,1}. Parts that do not factor become Whole loops.
struct ReshapeLoops {
  llvm::SmallVector<Loop, 8> loops;
  TensorLoops from, to;
};
// Factors two shapes. Fails if they cannot hold the same elements.
llvm::FailureOr<ReshapeLoops> factorReshape(llvm::ArrayRef<int64_t> from,
                                            llvm::ArrayRef<int64_t> to);

} // namespace dtc::graph
