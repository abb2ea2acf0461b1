// What ops of a partitioned program are to the cost model, read off their rules.
#pragma once

#include "compiler/cost/Cost.h"
#include "dialects/graph/Graph.h"

#include <optional>

namespace dtc {

// Bytes of a tensor; an unbound dim counts as 1, anything but a tensor as nothing.
double tensorBytes(mlir::Type type);

// Whether the op computes point by point, so that code generation joins it with its neighbours.
bool isFusible(mlir::Operation *op);

// A collective of the upstream shard dialect.
struct CollectiveWork {
  CollectiveKind kind;
  double bytes; // as collectiveSeconds wants them, in f32
};
std::optional<CollectiveWork> collectiveOf(mlir::Operation *op);

} // namespace dtc
