// The one statement of an op's loops that planner, partitioner, cost model and verifiers share.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace dtc::graph {

// What happens to a result that does not contain a loop when that loop is split over ranks.
enum class LoopKind {
  Parallel, // the loop is in every result: each rank computes its part
  Sum,      // a result without the loop is partial(sum)
  Max,      // a result without the loop is partial(max)
  Staged,   // the op finishes sums or maxima over the loop and goes on with them: where it is split
            // the op is taken apart (DecomposeOpInterface), and a result without the loop is whole
  Whole,    // the loop cannot be split (head dimension, time inside attention)
  Mean,     // a result without the loop is the mean of what equal parts of it have; whole, as the
            // count is that of all parts, until dtc-bind-batch makes a sum of it
  Weighted, // a result without the loop is two sums over it, one divided by the other; whole, until
            // dtc-differentiate takes them apart
};

// What an op is to cost and placement, beside the bytes of its operands and results.
enum class OpKind {
  Memory,        // no more than these
  View,          // no bytes at all: operand 0's elements as another shape
  Product,       // a matrix product of operands 0 and 1
  Attention,     // products of queries with keys, and of their softmax with values
  Normalisation, // brings the rows of operand 0 to one size
  Exchange,      // brings tokens to the rows of experts, or back
  Loss,          // reads the logits, operand 0
};

// What a loop is to products. Of operands a and b and result c of a matrix product, by which of
// them have it: M a and c, N b and c, K a and b, Batch all. Of attention M are the queries, N the
// keys, K is the head dimension, Batch all others.
enum class ProductLoop { M, N, K, Batch };

struct Loop {
  int64_t size; // ShapedType::kDynamic while the batch is unbound
  LoopKind kind;

  // Whether no plan may split it.
  bool isWhole() const {
    return kind == LoopKind::Whole || kind == LoopKind::Mean || kind == LoopKind::Weighted;
  }
};

// The loops that make up one tensor dim, outermost first; splitting the dim over a mesh axis splits
// the first of them. Empty: the dim does not move with any loop (a broadcast dim of size 1).
using DimLoops = llvm::SmallVector<unsigned, 2>;
using TensorLoops = llvm::SmallVector<DimLoops, 4>;

// Example, linear y[b,t,n] = x[b,t,k] w[k,n]: loops b, t, n (Parallel... n too), k (Sum);
// operands {{b},{t},{k}}, {{k},{n}}; results {{b},{t},{n}}; flopsPerPoint 2.
struct OpRule {
  llvm::SmallVector<Loop, 8> loops;
  llvm::SmallVector<TensorLoops, 4> operands; // one per operand; a scalar has no dims
  llvm::SmallVector<TensorLoops, 2> results;
  double flopsPerPoint = 1; // floating-point operations per point of the whole iteration space
  OpKind kind = OpKind::Memory;
  // Of products and attention, one per loop.
  llvm::SmallVector<ProductLoop, 8> productLoops;
  bool isGradient = false;  // computes gradients of the kind's op
  bool isCausal = false;    // of attention: half of the pairs of queries and keys are seen
  bool isComposite = false; // some software runs it as several ops, point by point and reductions
  // Share of the points that model flops count: experts compute rows that no token fills.
  double modelShare = 1;
  // Zero in, zero out: where a padded index of a split loop reads zeros in the operands that have
  // that loop, results that have the loop are zero there and sums over it gain nothing. Ops without
  // this refuse padded loops.
  bool zeroPreserving = false;
  // Loops for which that does not hold although the op is zeroPreserving or knows the index: an
  // operand without the loop feeds the result there (the bias of x[t,c] + b[c] in padded rows t, a
  // broadcast into new dims, keys and values in padded query heads).
  llvm::SmallVector<unsigned, 2> fedLoops;
  // f(a + b) = f(a) + f(b) over all tensor operands together: sums that are not finished yet
  // (partial) may stay so.
  bool jointlyLinear = false;
  // Loops whose global index matters to the op (rows of an embedding, words of a cross entropy,
  // elements of dropout): when one is split or padded, the partitioner attaches a #graph.window to
  // the local op, and padding is handled by the op itself.
  llvm::SmallVector<unsigned, 2> indexedLoops;
  // Loops over the experts of a mixture, and over the places for tokens that each expert has.
  // Expert parallelism splits the first; every expert then gets the tokens of more ranks, so that
  // the second grows as much. An op whose results have a capacity loop and whose operands do not,
  // or the other way round, exchanges tokens between the ranks (all-to-all).
  llvm::SmallVector<unsigned, 1> expertLoops, capacityLoops;
  // Loops over the tokens of a sequence, which context and sequence parallelism split, and over the
  // numbers that describe one token. Only ops that mean that say so: attention knows its queries
  // from its heads, an addition neither. Who asks spreads it over the dims that ops share loops in.
  llvm::SmallVector<unsigned, 2> sequenceLoops, channelLoops;

  // Whether it does matrix products, which model flops count as Megatron-LM counts them.
  bool multiplies() const { return kind == OpKind::Product || kind == OpKind::Attention; }

  // Whether the op only moves elements: what a view, transpose or slice of a parameter holds are
  // parameters.
  bool onlyMoves() const { return jointlyLinear && flopsPerPoint == 0; }

  // Whether the operand is a term of the first result, which is a sum of such.
  bool isTerm(unsigned operand) const { return jointlyLinear && operands[operand] == results[0]; }

  // Whether padding of this loop stays zero, or does not matter because the op itself knows the
  // padded indices.
  bool allowsPadding(unsigned loop) const {
    return !llvm::is_contained(fedLoops, loop) &&
           (zeroPreserving || llvm::is_contained(indexedLoops, loop));
  }
};

} // namespace dtc::graph
