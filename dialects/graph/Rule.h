// The one statement of an op's loops that planner, partitioner, cost model and verifiers share.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace dtc::graph {

// What happens to a result that does not contain a loop when that loop is split over ranks.
enum class LoopKind {
  Parallel, // the loop is in every result: each rank computes its part
  Sum,      // a result without the loop is partial(sum)
  Max,      // a result without the loop is partial(max)
  Whole,    // the loop cannot be split (softmax row, head dimension, time inside attention)
};

struct Loop {
  int64_t size; // ShapedType::kDynamic while the batch is unbound
  LoopKind kind;
};

// The loops that make up one tensor dim, outermost first; splitting the dim over a mesh axis splits the first of them.
// Empty: the dim does not move with any loop (a broadcast dim of size 1).
using DimLoops = llvm::SmallVector<unsigned, 2>;
using TensorLoops = llvm::SmallVector<DimLoops, 4>;

// Example, linear y[b,t,n] = x[b,t,k] w[k,n]: loops b, t, n (Parallel... n too), k (Sum);
// operands {{b},{t},{k}}, {{k},{n}}; results {{b},{t},{n}}; flopsPerPoint 2.
struct OpRule {
  llvm::SmallVector<Loop, 8> loops;
  llvm::SmallVector<TensorLoops, 4> operands; // one per operand; a scalar has no dims
  llvm::SmallVector<TensorLoops, 2> results;
  double flopsPerPoint = 1; // floating-point operations per point of the whole iteration space
  bool matrixProduct = false; // counted in model flops as Megatron-LM counts them
  // Zero in, zero out: where a padded index of a split loop reads zeros in the operands that have that loop, results
  // that have the loop are zero there and sums over it gain nothing. Ops without this refuse padded loops.
  bool zeroPreserving = false;
  // Loops whose global index matters to the op (rows of an embedding, words of a cross entropy, elements of dropout):
  // when one is split or padded, the partitioner attaches a #graph.window to the local op, and padding is handled by
  // the op itself.
  llvm::SmallVector<unsigned, 2> indexedLoops;
};

} // namespace dtc::graph
