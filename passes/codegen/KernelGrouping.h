// Decides which ops of a block share a kernel.
#pragma once

#include "dialects/graph/Slices.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace dtc {

// Ops in the order in which they may run; `isKernel` groups run as one.
struct KernelGroup {
  llvm::SmallVector<mlir::Operation *> ops;
  bool isKernel = false;
};

// Limits that keep a fused loop fast.
struct GroupingLimits {
  unsigned maxStreams = 16; // tensors of the full iteration space that one loop reads and writes
  unsigned maxOps = 64;     // ops of one loop
  unsigned maxScalarOps =
      256; // ops on scalars: the file format takes 1024 buffers a kernel at most
  unsigned siblingDistance = 48; // how far apart, in ops, two readers of one tensor may stand
};

// 1. Every op of the block is a node, every use an edge; ops with side effects stay in their order.
// 2. Pointwise ops join the makers of their operands that have the same iteration space.
// 3. Pointwise ops that read the same tensor in full join, if they are near each other.
// 4. Ops on scalars join whatever other ops on scalars they can.
// Ops of one chunk and phase of a pipeline (graph.chunk, graph.phase) join each other only. What a layer runs again
// (graph.again), and what depends on it, joins nothing that the loss depends on.
// Parts of sums that ranks have yet to finish, and what is whole, are results of kernels apart.
// A join is refused where another op would have to run in the middle, or where a limit is passed.
//
// Constants must have one user each (see splitConstants): they join it at any shape.
// Returns all ops but the terminator, grouped and in an order that respects every use.
// Ops of `apart` join each other only.
std::vector<KernelGroup> groupKernels(mlir::Block &block, const graph::OpSet &apart = {},
                                      const GroupingLimits &limits = {});

// Gives every user of a constant its own copy.
void splitConstants(mlir::Block &block);

// Whether `op` becomes (part of) a generated kernel: it computes point by point or has
// KernelOpInterface.
bool isKernelOp(mlir::Operation *op);

} // namespace dtc
