// Prices the ways to split one op over the mesh on a device and its links. Internal to this folder.
#pragma once

#include "compiler/price/estimate/CellCost.h"
#include "compiler/price/estimate/KnownCollectives.h"
#include "compiler/search/placement/PlacementCosts.h"

namespace dtc {

struct ReshardStep;

// Weights between kinds of seconds.
struct CostWeights {
  // Seconds are those of this many micro-batches at once, divided by their number: latencies count
  // for less where there are many.
  double microBatches = 1;
  double collectives = 1; // value of a second of collectives in seconds of compute
};

// Costs of a placement problem on a device, in weighted seconds.
class DeviceCosts : public PlacementCosts {
public:
  // Keeps the references. `groups` has the ranks of each mesh axis. `known`, of the same topology,
  // shares collective times with other users; null computes all of them here.
  DeviceCosts(const Mesh &mesh, std::vector<RankGroup> groups, const Topology &topology,
              const CellPrecision &precision, const SoftwareStack &software,
              CostWeights weights = {}, KnownCollectives *known = nullptr)
      : mesh(mesh), groups(std::move(groups)), topology(topology), precision(precision),
        software(software), weights(weights), known(known) {}

  double opSeconds(mlir::Operation *op, const graph::OpRule &rule,
                   llvm::ArrayRef<int> split) const override;
  double moveSeconds(mlir::Type type, const Placement &from, const Placement &to) const override;
  double keptBytes(mlir::Type type, const Placement &placement) const override;
  double parameterBytes(mlir::Type type, const Placement &placement) const override;
  double frozenBytes(mlir::Type type, const Placement &placement) const override;
  double updateSeconds(mlir::Type type, const Placement &placement) const override;

private:
  double localElements(mlir::Type type, const Placement &placement) const;
  double stepSeconds(const ReshardStep &step, double elementBytes) const;
  int64_t localSize(const graph::OpRule &rule, size_t loop, llvm::ArrayRef<int> split) const;

  const Mesh &mesh;
  std::vector<RankGroup> groups;
  const Topology &topology;
  const CellPrecision &precision;
  const SoftwareStack &software;
  CostWeights weights;
  KnownCollectives *known;
};

} // namespace dtc
