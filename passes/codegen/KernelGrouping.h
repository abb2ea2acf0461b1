// Decides which ops of a block share a kernel.
#pragma once

#include "dialects/graph/Slices.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace dtc {

// Ops in an order in which they may run; groups with `isKernel` run as one kernel.
struct KernelGroup {
  llvm::SmallVector<mlir::Operation *> ops;
  bool isKernel = false;
};

// Limits that keep a fused loop fast.
struct GroupingLimits {
  unsigned maxStreams = 16;   // tensors of the full iteration space that one loop reads and writes
  unsigned maxOps = 64;       // ops of one loop
  unsigned maxScalarOps = 64; // ops on scalars: a sum over all layers is launches of one kernel
  unsigned siblingDistance = 48; // largest distance, in ops, between two readers of one tensor
};

// Returns all ops except the terminator, grouped and in an order that respects every use.
// 1. Every op of the block is a node, every use an edge; ops with side effects stay in their order.
// 2. Pointwise ops join the makers of their operands that have the same iteration space.
// 3. Pointwise ops that read the same whole tensor join if they are near each other.
// 4. Ops on scalars join any other ops on scalars that they can.
//
// Restrictions:
// - Ops of one chunk and phase of a pipeline (graph.chunk, graph.phase) join each other only.
// - Ops of one set of `apart` join each other only; an op of two sets counts for the first.
// - Recomputed ops (graph.again) and their users join nothing that the loss depends on.
// - Partial sums, which ranks have yet to finish, and whole values are results of separate kernels.
// - A join is refused if another op would have to run in the middle, or if it exceeds a limit.
//
// Constants must have one user each (see splitConstants): they join it at any shape.
std::vector<KernelGroup> groupKernels(mlir::Block &block, llvm::ArrayRef<graph::OpSet> apart = {},
                                      const GroupingLimits &limits = {});

// Gives every user of a constant its own copy.
void splitConstants(mlir::Block &block);

// True if `op` becomes (part of) a generated kernel: it is pointwise or has KernelOpInterface.
bool isKernelOp(mlir::Operation *op);

} // namespace dtc
