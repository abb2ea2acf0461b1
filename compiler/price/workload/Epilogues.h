// The ops of a block that matrix products take over as their epilogues.
#pragma once

#include "dialects/graph/Graph.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace dtc {

// The part of an epilogue that one op is (pass dtc-fuse-epilogues).
struct EpiloguePart {
  // Tensors that the op then does not move: the product's result, and that of the epilogue, which
  // the product writes in place of its own.
  llvm::SmallVector<mlir::Value, 2> unmoved;
  bool isNarrow = true; // biases and GELU: only of products in 16 bits
};

// The parts of epilogues by their ops.
using EpilogueParts = llvm::DenseMap<mlir::Operation *, EpiloguePart>;

// Returns the ops of a block that dtc-fuse-epilogues moves into products on GPUs: those of a kernel
// of dtc-form-kernels that is an epilogue (graph::readEpilogue) of a product whose result no other
// op reads. Whether a bias is whole where the plan gathers parameters is not known yet.
EpilogueParts findEpilogues(mlir::Block &block);

} // namespace dtc
