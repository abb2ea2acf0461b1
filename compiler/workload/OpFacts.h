// What ops of a partitioned program are to the cost model, read off their rules.
#pragma once

#include "compiler/workload/Cells.h"
#include "dialects/graph/Views.h"

#include <optional>

namespace dtc {

// Bytes of a tensor, or of one entry of a stack; an unbound dim counts as 1, anything else as
// nothing.
double tensorBytes(mlir::Type type);

// Whether the op computes point by point, so that code generation joins it with its neighbours.
bool isFusible(mlir::Operation *op);

// Whether the op is in one kernel with one before it.
bool isJoined(mlir::Operation *op);

// What an op does at the end of the product before it, where the library's products can (pass
// dtc-fuse-epilogues): adds a bias or another tensor, takes GELU by tanh of what a bias was added to, or
// multiplies by the derivative of that.
struct Epilogue {
  // Tensors that the op then does not move: the product's result, and its own in place of that.
  llvm::SmallVector<mlir::Value, 2> unmoved;
  bool isNarrow = true; // of products in 16 bits alone: biases and GELU
};
// Nothing where the op is none.
std::optional<Epilogue> epilogueOf(mlir::Operation *op);

using graph::isView;
using graph::rootOf;

// Whether one of the tensor's dims is made up of a product's loops of this kind.
bool hasLoop(const graph::OpRule &rule, const graph::TensorLoops &tensor, graph::ProductLoop kind);

// What the op is by its rule, without sizes and bytes.
CellOp cellOpOf(mlir::Operation *op, const graph::OpRule &rule);

// Sizes and flops of a product, or of attention; `sizes` and `bits` are of each loop, its size and
// what that scales with.
void setSizes(CellOp &cellOp, const graph::OpRule &rule, llvm::ArrayRef<int64_t> sizes,
              llvm::ArrayRef<uint8_t> bits);

// A collective of the upstream shard dialect.
struct CollectiveWork {
  CollectiveKind kind;
  double bytes; // as collectiveSeconds wants them, in f32
};
std::optional<CollectiveWork> collectiveOf(mlir::Operation *op);

// Which ranks of tensor parallelism a collective is among, as CellCollective::part says it.
RankSpan partOfTensorGroup(mlir::Operation *collective);

} // namespace dtc
