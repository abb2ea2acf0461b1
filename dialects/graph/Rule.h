// The single definition of an op's loops that planner, partitioner, cost model and verifiers share.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace dtc::graph {

// The effect of splitting a loop over ranks on a result that does not contain it.
enum class LoopKind {
  Parallel, // the loop is in every result: each rank computes its part
  Sum,      // a result without the loop is partial(sum)
  Max,      // a result without the loop is partial(max)
  // the op finishes sums or maxima over the loop and uses them: if it is split, the op is
  // decomposed (DecomposeOpInterface), and a result without the loop is whole
  Staged,
  Whole, // the loop cannot be split (head dimension, time inside attention)
  // a result without the loop is a mean over it; whole, because the count is that of all ranks,
  // until dtc-bind-batch turns it into a sum
  Mean,
  // a result without the loop is the quotient of two sums over it; whole, until dtc-differentiate
  // decomposes it
  Weighted,
};

// The category of an op for cost and placement, beside the bytes of its operands and results.
enum class OpKind {
  Memory,        // moves the bytes of its operands and results, nothing else
  View,          // no bytes at all: operand 0's elements with another shape
  Product,       // a matrix product of operands 0 and 1
  Attention,     // matrix products of queries with keys, and of their softmax with values
  Normalisation, // normalises the rows of operand 0
  Dispatch,      // sends tokens to the rows of experts, or back
  Loss,          // reads the logits, operand 0
};

// The role of a loop in a matrix product with operands a and b and result c: M is in a and c, N in
// b and c, K in a and b, Batch in all. In attention M are the queries, N the keys, K is the head
// dimension, Batch all others.
enum class ProductLoop { M, N, K, Batch };

// A loop of an op's iteration space.
struct Loop {
  int64_t size; // ShapedType::kDynamic while the batch is unbound
  LoopKind kind;

  // True if no plan may split it.
  bool isWhole() const {
    return kind == LoopKind::Whole || kind == LoopKind::Mean || kind == LoopKind::Weighted;
  }
};

// The loops that make up one tensor dim, outermost first; splitting the dim over a mesh axis splits
// the first of them. Empty if the dim does not move with any loop (a broadcast dim of size 1).
using DimLoops = llvm::SmallVector<unsigned, 2>;
using TensorLoops = llvm::SmallVector<DimLoops, 4>;

// The rule of an op. Example, linear y[b,t,n] = x[b,t,k] w[k,n]: loops b, t, n (Parallel), k (Sum);
// operands {{b},{t},{k}}, {{k},{n}}; results {{b},{t},{n}}; flopsPerPoint 2.
struct OpRule {
  llvm::SmallVector<Loop, 8> loops;
  llvm::SmallVector<TensorLoops, 4> operands; // one per operand; a scalar has no dims
  llvm::SmallVector<TensorLoops, 2> results;
  double flopsPerPoint = 1; // floating-point operations per point of the whole iteration space
  OpKind kind = OpKind::Memory;
  // one per loop; for matrix products and attention only
  llvm::SmallVector<ProductLoop, 8> productLoops;
  bool isGradient = false;  // computes gradients of the kind's op
  bool isCausal = false;    // for attention: half of the pairs of queries and keys are seen
  bool isComposite = false; // some software runs it as several ops, pointwise ops and reductions
  // Share of the points that model flops count: experts compute rows without a token.
  double modelShare = 1;
  // Zero in, zero out: at a padded index of a split loop, operands with the loop read zeros.
  // Results with the loop are then zero there, and sums over it gain nothing. Ops without this
  // property refuse padded loops.
  bool zeroPreserving = false;
  // Loops for which this does not hold although the op is zeroPreserving or knows the index: an
  // operand without the loop feeds the result there (the bias of x[t,c] + b[c] in padded rows t, a
  // broadcast into new dims, keys and values in padded query heads).
  llvm::SmallVector<unsigned, 2> fedLoops;
  // f(a + b) = f(a) + f(b) over all tensor operands together: partial sums may stay partial.
  bool jointlyLinear = false;
  // Operands that f is not linear in, such as indices: they are complete where the others of a
  // jointly linear op are partial sums. Floats among them stay in f32 (the bias of attention).
  llvm::SmallVector<unsigned, 1> completeOperands;
  // Loops whose global index matters to the op (rows of an embedding, vocabulary entries of a cross
  // entropy, elements of dropout): if one is split or padded, the partitioner attaches a
  // #graph.window to the local op, and the op itself handles padding.
  llvm::SmallVector<unsigned, 2> indexedLoops;
  // Loops over the experts of a mixture, and over the rows for tokens that each expert has. Expert
  // parallelism splits the first; every expert then gets the tokens of more ranks, so that the
  // second grows in proportion. An op whose results have a capacity loop and whose operands do not,
  // or the other way round, sends tokens between the ranks (all-to-all).
  llvm::SmallVector<unsigned, 1> expertLoops, capacityLoops;
  // Loops over the tokens of a sequence, which context and sequence parallelism split, and over the
  // channels of one token. Only ops with this meaning declare them: attention distinguishes queries
  // from heads, an addition distinguishes neither. Users spread the mark over the dims that ops
  // share loops in.
  llvm::SmallVector<unsigned, 2> sequenceLoops, channelLoops;

  // True if it does matrix products, which model flops count as Megatron-LM counts them.
  bool multiplies() const { return kind == OpKind::Product || kind == OpKind::Attention; }

  // True if the op only moves elements: a view, transpose or slice of a parameter holds parameters.
  bool onlyMoves() const { return jointlyLinear && flopsPerPoint == 0 && completeOperands.empty(); }

  // Returns whether f is not linear in the operand.
  bool isComplete(unsigned operand) const { return llvm::is_contained(completeOperands, operand); }

  // True if the operand is a term of the first result, which is a sum.
  bool isTerm(unsigned operand) const {
    return jointlyLinear && operands[operand] == results[0] && !isComplete(operand);
  }

  // True if padding of this loop stays zero, or does not matter because the op itself knows the
  // padded indices.
  bool allowsPadding(unsigned loop) const {
    return !llvm::is_contained(fedLoops, loop) &&
           (zeroPreserving || llvm::is_contained(indexedLoops, loop));
  }
};

} // namespace dtc::graph
