// What the ways of splitting one op over the mesh cost, before anything is partitioned. Internal to
// this folder.
#pragma once

#include "compiler/planner/CellCost.h"
#include "passes/shard/OpSplit.h"

namespace dtc {

// Costs of one micro-batch of the size that the module is bound to, on one rank.
class PlacementCosts {
public:
  // `groups`: where the ranks of each mesh axis are.
  PlacementCosts(const Mesh &mesh, std::vector<RankGroup> groups, const Topology &topology,
                 const CellPrecision &precision, const SoftwareStack &software)
      : mesh(mesh), groups(std::move(groups)), topology(topology), precision(precision),
        software(software) {}

  // Seconds of the op's kernel; pointwise ops that follow each other count as joined.
  double opSeconds(mlir::Operation *op, const graph::OpRule &rule,
                   llvm::ArrayRef<int> split) const;

  // Seconds to bring a tensor from one placement to another; infinity where that is never done
  // (unfinished maxima to unfinished sums).
  double moveSeconds(mlir::Type type, const Placement &from, const Placement &to) const;

  // Bytes of an activation on one rank.
  double keptBytes(mlir::Type type, const Placement &placement) const;
  // Bytes of a parameter, its gradient and its optimizer state on one rank.
  double parameterBytes(mlir::Type type, const Placement &placement) const;
  // Seconds of the optimizer's step over a parameter.
  double updateSeconds(mlir::Type type, const Placement &placement) const;

private:
  double localElements(mlir::Type type, const Placement &placement) const;
  double moveOnAxis(mlir::RankedTensorType type, const Placement &now, unsigned axis,
                    const AxisPlacement &to) const;
  int64_t localSize(const graph::OpRule &rule, size_t loop, llvm::ArrayRef<int> split) const;
  void addProduct(CellOp &cellOp, const graph::OpRule &rule, llvm::ArrayRef<int> split) const;
  void addAttention(CellOp &cellOp, mlir::Operation *op, const graph::OpRule &rule,
                    llvm::ArrayRef<int> split) const;

  const Mesh &mesh;
  std::vector<RankGroup> groups;
  const Topology &topology;
  const CellPrecision &precision;
  const SoftwareStack &software;
};

} // namespace dtc
