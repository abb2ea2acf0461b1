// What the ways of splitting one op over tensor parallelism cost, before anything is partitioned.
// Internal to this folder.
#pragma once

#include "compiler/estimate/CellCost.h"
#include "compiler/workload/DimRoles.h"
#include "passes/shard/OpSplit.h"

namespace dtc {

// Costs of one micro-batch of the size that the module is bound to, on one rank.
class PlacementCosts {
public:
  // `group` are the ranks of tensor parallelism.
  PlacementCosts(const DimRoles &roles, RankGroup group, int64_t tp, const Topology &topology,
                 const CellPrecision &precision, const SoftwareStack &software)
      : roles(roles), group(std::move(group)), mesh{{"tp"}, {tp}, {AxisRole::Tensor}},
        topology(topology), precision(precision), software(software) {}

  int64_t parts() const { return mesh.sizes[0]; }
  bool hasSamples(mlir::Value value) const { return roles.bitsOf(value) & ScalesWithBatch; }

  // The loops of the op that tensor parallelism may split, "none" and "partial" where it commutes
  // with sums. Loops over samples belong to data parallelism, those over experts to expert
  // parallelism.
  std::vector<int> choicesOf(mlir::Operation *op, const graph::OpRule &rule) const;

  // Seconds of the op's kernel; pointwise ops that follow each other count as joined.
  double opSeconds(mlir::Operation *op, const graph::OpRule &rule, int choice) const;

  // Seconds to bring a tensor from one placement to another; infinity where that is never done
  // (unfinished maxima to unfinished sums).
  double moveSeconds(mlir::Type type, const AxisPlacement &from, const AxisPlacement &to) const;

  // Bytes of an activation on one rank.
  double keptBytes(mlir::Type type, const AxisPlacement &placement) const;
  // Bytes of a parameter, its gradient and its optimizer state on one rank.
  double parameterBytes(mlir::Type type, const AxisPlacement &placement) const;
  // Seconds of the optimizer's step over a parameter.
  double updateSeconds(mlir::Type type, const AxisPlacement &placement) const;

private:
  double localElements(mlir::Type type, const AxisPlacement &placement) const;
  void addProduct(CellOp &cellOp, const graph::OpRule &rule, int choice) const;
  void addAttention(CellOp &cellOp, mlir::Operation *op, const graph::OpRule &rule,
                    int choice) const;

  const DimRoles &roles;
  RankGroup group;
  Mesh mesh;
  const Topology &topology;
  const CellPrecision &precision;
  const SoftwareStack &software;
};

} // namespace dtc
