// Megatron's cells of a model as a stack computes them, and the costs of meshes with them.
#pragma once

#include "compiler/price/workload/ApplyStack.h"
#include "compiler/search/planner/PlacementFrontier.h"

namespace dtc {

// Caches the cells of a model after applyStack. Keeps the references.
class AppliedCells {
public:
  AppliedCells(CellStore &cells, const EstimateRequest &request) : cells(cells), request(request) {}

  // Returns the cells of the decisions; the model must be partitionable that way.
  const ModelCells &of(const Decisions &d) {
    const ModelCells *model = cells.get(d.tp, d.sequenceParallel, d.foldedExperts);
    assert(model && "a model that can be partitioned so");
    auto [known, isNew] = applied.try_emplace(model);
    if (isNew)
      known->second = applyStack(*model, *request.software, request.precision.compute);
    return known->second;
  }

  // Returns the cost of a mesh. `known` shares costs between calls.
  ModelCost cost(const Decisions &mesh, KnownCosts *known = nullptr) {
    return costModel(of(mesh), mesh, *request.topology, request.precision, known,
                     [this](const Decisions &part) -> const ModelCells & { return of(part); });
  }

private:
  CellStore &cells;
  const EstimateRequest &request;
  std::map<const ModelCells *, ModelCells> applied;
};

} // namespace dtc
