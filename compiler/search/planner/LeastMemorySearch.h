// Finds the decisions that need the smallest memory if none fit. Internal to this folder.
#pragma once

#include "compiler/search/planner/CandidateCoster.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace dtc {

// Searches the whole space for the smallest memory.
class LeastMemorySearch {
public:
  // Keeps the references. `smallest` has the candidates that were costed so far.
  LeastMemorySearch(const SearchInputs &inputs, MeshCosts &costs, SearchWork &work,
                    SmallestNeed &smallest)
      : inputs(inputs), costs(costs), work(work), smallest(smallest) {}

  // Costs the candidates with the smallest memory for each way to spread the model over the
  // devices: the smallest micro-batch, and as much recomputation as possible. The order of axes
  // makes no difference to memory, and the first available kind of context parallelism needs least.
  void run();

private:
  // Takes a detail of a mesh. `most` is the highest recomputation that any detail of the mesh
  // requires of all its layers (Decisions::recompute).
  using Visitor = llvm::function_ref<void(const ModelCost &, const Decisions &, Recompute most)>;
  void visitMeshes(Visitor visitor);
  void cost(const ModelCost &model, const Decisions &decisions);
  void cut(const ModelCost &model, const Decisions &decisions);

  const SearchInputs &inputs;
  MeshCosts &costs;
  SearchWork &work;
  SmallestNeed &smallest;
};

} // namespace dtc
