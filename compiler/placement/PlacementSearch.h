// Searches the placements of all ops of a model over tensor parallelism. Internal to this folder.
#pragma once

#include "compiler/placement/PlacementNetwork.h"
#include "compiler/plan/OpSplits.h"
#include "compiler/workload/ReadCells.h"

namespace dtc {

// Seconds that a byte is worth, of activations kept for one micro-batch and of parameters with
// their states.
struct MemoryWorth {
  double keptByte = 0, parameterByte = 0;
};

class PlacementSearcher {
public:
  explicit PlacementSearcher(const FoldedModel &model);

  // The placements that cost least, by a cost-function network for each kind of layer and one for
  // embedding and head; nothing where the model can't be searched (it has blocks inside of blocks).
  std::optional<SearchedPlacements> cheapest(int64_t tp, bool sequenceParallel,
                                             const MemoryWorth &worth, const RankGroup &group,
                                             const Topology &topology,
                                             const CellPrecision &precision,
                                             const SoftwareStack &software) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> step; // after the graph phase
  std::optional<DimRoles> roles;
};

} // namespace dtc
