// The costs of meshes under the placements of a frontier. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/PlacementFrontier.h"
#include "compiler/search/planner/SpaceLimits.h"

#include "llvm/ADT/SmallVector.h"

#include <map>

namespace dtc {

// Costs meshes, each once for all of its details. A mesh is here what
// KeptResult::MeshCost has of decisions: the axes, their order, the micro-batch and the placement.
class MeshCosts {
public:
  // All arguments are kept by reference.
  MeshCosts(CellStore &cells, const SpaceLimits &limits, const Pins &pins,
            const EstimateRequest &request);

  // Returns the values of Decisions::placement that the pins allow: the searched placements, or
  // Megatron's alone, or all. Empty if the model cannot be partitioned over the mesh.
  llvm::SmallVector<int, 4> placementsOf(const Decisions &mesh);
  // Returns the cost of a mesh, which is kept; the reference stays valid.
  const ModelCost &costOf(const Decisions &mesh);
  // Returns the cost of a mesh without keeping it.
  ModelCost costAnew(const Decisions &mesh);
  // Returns the cost of a mesh if it is kept; null otherwise.
  const ModelCost *find(const Decisions &mesh) const;
  // Keeps the cost of a mesh.
  void keep(const Decisions &mesh, ModelCost cost);
  // Returns a lower bound in seconds of all orders of the mesh's axes, from its work alone; 0 if
  // floorSeconds says nothing. `request` is that of the bound.
  double floorOf(const Decisions &mesh, const EstimateRequest &request);
  // Returns the placements that Decisions::placement of the mesh indexes.
  const std::vector<const PlacementPoint *> &frontierOf(const Decisions &mesh);

private:
  bool canSplitParts(const Decisions &mesh);
  const PlacementPoint &pointOf(const Decisions &mesh);
  // Returns the cells as the software computes them.
  const ModelCells &appliedOf(const ModelCells &model);

  const SpaceLimits &limits;
  const Pins &pins;
  const EstimateRequest &request;
  PlacementFrontier frontier;
  std::map<const ModelCells *, ModelCells> applied; // key: cells of the store or the frontier
  KnownCosts knownCosts;                            // costs of `applied`
  std::map<Decisions, ModelCost> costs;             // by KeptResult::MeshCost
};

// Returns the smallest ratio of the seconds of a block, forward or backward with its collectives,
// under the placements of `point` to those of `base`; at most 1.
double leastRatio(const ModelCost &point, const ModelCost &base);

// Returns a lower bound in seconds of a mesh: that of its best schedule that the pins allow.
// Several chunks a stage shorten the waits between stages, and a V has the head on the first stage.
double leastOfSchedules(const ModelCost &model, Decisions mesh, const SpaceLimits &limits,
                        const Pins &pins, const EstimateRequest &request);

} // namespace dtc
