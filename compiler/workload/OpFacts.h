// What ops of a partitioned program are to the cost model, read off their rules.
#pragma once

#include "compiler/cost/Cost.h"
#include "dialects/graph/Graph.h"

#include <optional>

namespace dtc {

// Bytes of a tensor, or of one entry of a stack; an unbound dim counts as 1, anything else as
// nothing.
double tensorBytes(mlir::Type type);

// Whether the op computes point by point, so that code generation joins it with its neighbours.
bool isFusible(mlir::Operation *op);

// Whether the op reads logits, or makes their gradient.
bool isLoss(mlir::Operation *op);
// RMS normalisation or rotary embedding, which some software stacks compose of ops.
bool isComposite(mlir::Operation *op);
// Whether the op is in one kernel with one before it.
bool isJoined(mlir::Operation *op);

// What a loop is to a product of two operands: rows of the first, columns of the second, summed
// over, or in both and the result.
enum class ProductLoop : uint8_t { M, N, K, Batch };
ProductLoop productLoop(const graph::OpRule &rule, unsigned loop);

// A collective of the upstream shard dialect.
struct CollectiveWork {
  CollectiveKind kind;
  double bytes; // as collectiveSeconds wants them, in f32
};
std::optional<CollectiveWork> collectiveOf(mlir::Operation *op);

// Which ranks of tensor parallelism a collective is among, as CellCollective::part says it.
RankSpan partOfTensorGroup(mlir::Operation *collective);

} // namespace dtc
