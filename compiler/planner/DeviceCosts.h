// What the ways of splitting one op over the mesh cost on a device and its links. Internal to this
// folder.
#pragma once

#include "compiler/estimate/CellCost.h"
#include "compiler/placement/PlacementCosts.h"

namespace dtc {

struct ReshardStep;

class DeviceCosts : public PlacementCosts {
public:
  // `groups`: where the ranks of each mesh axis are. Seconds are those of `times` micro-batches at
  // once, divided by their number: latencies count for less where they are many.
  DeviceCosts(const Mesh &mesh, std::vector<RankGroup> groups, const Topology &topology,
                 const CellPrecision &precision, const SoftwareStack &software, double times = 1)
      : mesh(mesh), groups(std::move(groups)), topology(topology), precision(precision),
        software(software), times(times) {}

  double opSeconds(mlir::Operation *op, const graph::OpRule &rule,
                   llvm::ArrayRef<int> split) const override;
  double moveSeconds(mlir::Type type, const Placement &from, const Placement &to) const override;
  double keptBytes(mlir::Type type, const Placement &placement) const override;
  double parameterBytes(mlir::Type type, const Placement &placement) const override;
  double updateSeconds(mlir::Type type, const Placement &placement) const override;

private:
  double localElements(mlir::Type type, const Placement &placement) const;
  double stepSeconds(const ReshardStep &step, double elementBytes) const;
  int64_t localSize(const graph::OpRule &rule, size_t loop, llvm::ArrayRef<int> split) const;
  void addProduct(CellOp &cellOp, const graph::OpRule &rule, llvm::ArrayRef<int> split) const;
  void addAttention(CellOp &cellOp, mlir::Operation *op, const graph::OpRule &rule,
                    llvm::ArrayRef<int> split) const;

  const Mesh &mesh;
  std::vector<RankGroup> groups;
  const Topology &topology;
  const CellPrecision &precision;
  const SoftwareStack &software;
  double times;
};

} // namespace dtc
