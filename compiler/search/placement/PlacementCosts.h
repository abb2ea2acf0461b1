// Costs of the ways to split one op over the mesh, before partitioning.
#pragma once

#include "passes/shard/OpSplit.h"

namespace dtc {

// Costs of one micro-batch of the size that the module is bound to, on one rank.
class PlacementCosts {
public:
  virtual ~PlacementCosts() = default;

  // Seconds of the op's kernel; pointwise ops that follow each other count as joined.
  virtual double opSeconds(mlir::Operation *op, const graph::OpRule &rule,
                           llvm::ArrayRef<int> split) const = 0;

  // Seconds to bring a tensor from one placement to another; infinity where that is never done
  // (unfinished maxima to unfinished sums).
  virtual double moveSeconds(mlir::Type type, const Placement &from, const Placement &to) const = 0;

  // Bytes of an activation on one rank.
  virtual double keptBytes(mlir::Type type, const Placement &placement) const = 0;
  // Bytes of a parameter, its gradient and its optimizer state on one rank.
  virtual double parameterBytes(mlir::Type type, const Placement &placement) const = 0;
  // Bytes of a frozen parameter, which has neither.
  virtual double frozenBytes(mlir::Type type, const Placement &placement) const = 0;
  // Seconds of the optimizer's step over a parameter.
  virtual double updateSeconds(mlir::Type type, const Placement &placement) const = 0;
};

} // namespace dtc
