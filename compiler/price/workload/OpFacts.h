// Reads the costs of ops of a partitioned program from their rules.
#pragma once

#include "compiler/price/workload/Cells.h"
#include "dialects/graph/Views.h"

#include <optional>

namespace dtc {

// Bytes of a tensor, or of one entry of a stack; an unbound dim counts as 1, anything else as
// nothing.
double tensorBytes(mlir::Type type);

// Returns true if the op is elementwise, so that code generation joins it with its neighbours.
bool isFusible(mlir::Operation *op);

// Returns true if the op is in one kernel with a preceding op.
bool isJoined(mlir::Operation *op);

using graph::isView;
using graph::rootOf;

// Returns true if one of the tensor's dims is indexed by a matmul loop of this kind.
bool hasLoop(const graph::OpRule &rule, const graph::TensorLoops &tensor, graph::ProductLoop kind);

// Returns the properties of an op that follow from its rule, without sizes and bytes.
CellOp cellOpOf(mlir::Operation *op, const graph::OpRule &rule);

// Sizes and flops of a product, or of attention; `sizes` and `bits` are of each loop, its size and
// what that scales with.
void setSizes(CellOp &cellOp, const graph::OpRule &rule, llvm::ArrayRef<int64_t> sizes,
              llvm::ArrayRef<uint8_t> bits);

// A collective of the upstream shard dialect.
struct CollectiveWork {
  CollectiveKind kind;
  double bytes; // bytes in f32, as collectiveSeconds takes them
};
// Returns the kind and bytes of a collective op; nullopt for any other op.
std::optional<CollectiveWork> collectiveOf(mlir::Operation *op);

// Returns the ranks of the tensor-parallel group that a collective spans, in the form of
// CellCollective::part.
RankSpan partOfTensorGroup(mlir::Operation *collective);

} // namespace dtc
