// What one op of a partitioned program does: the cost model's terms, read off its rule.
#pragma once

#include "compiler/planner/ProgramCost.h"

namespace dtc {

double tensorBytes(mlir::Type type);

// Whether the op computes point by point, so that code generation joins it with its neighbours.
bool isFusible(mlir::Operation *op);

// Work of a compute op at its operand types (local shapes); nothing for structure and views.
OpWork workOf(mlir::Operation *op, const PrecisionModel &precision);

// A collective of the upstream shard dialect.
struct CollectiveWork {
  CollectiveKind kind;
  double bytes; // as collectiveSeconds wants them, in f32
  llvm::SmallVector<int64_t, 2> axes;
};
std::optional<CollectiveWork> collectiveOf(mlir::Operation *op);

// The ranks that differ only along `axes`.
RankGroup groupOf(llvm::ArrayRef<int64_t> axes, const Mesh &mesh);

} // namespace dtc
