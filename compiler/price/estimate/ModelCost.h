// Seconds and bytes of all parts of a model under the decisions that they follow from.
#pragma once

#include "compiler/decide/decisions/Decisions.h"
#include "compiler/price/estimate/CellCost.h"
#include "compiler/price/estimate/KnownCollectives.h"
#include "compiler/price/estimate/StageDevices.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <optional>

namespace dtc {

struct SearchedPlacements;

// Returns the overlap that software reaches for the collectives of a mesh. All-gathers of keys and
// values end before their attention begins (TransformerEngine, context_parallel.py,
// AttnFuncWithCPAndKVAllGather), so that nothing hides them. Matrix products run piece by piece
// beside the reduce-scatters and all-gathers around them: only under sequence parallelism, and
// among devices that read each other's memory. Source: Megatron-LM, arguments.py ("can happen only
// when sequence parallelism is enabled"); TransformerEngine, module/base.py (a "single NVLink
// domain"); PyTorch's symmetric memory.
Overlap overlapOf(const ModelCells &cells, const AxisGroups &groups, const Topology &topology);

// The costs of embedding and head if stages share the vocabulary.
struct VocabularyCost {
  BlockCost embedding, head; // the part of the first and the last chunk
  BlockCost share;           // the part of each stage
  double collectives = 0;    // seconds of a micro-batch among the stages, on a stream of their own
};

// Costs of the parts of a model under (tp, sp, cp, ep, micro-batch); shared by all decisions that
// agree in these and in the groups.
struct ModelCost {
  const ModelCells *cells = nullptr;
  const SearchedPlacements *placements = nullptr; // the placements of the cells, if known
  BlockCost embedding, head;
  std::optional<VocabularyCost> vocabulary; // set if stages may share it
  std::vector<BlockCost> blocks;
  double tiedParameters = 0, tiedFrozen = 0; // elements that embedding and head share
  double allDense = 0, allExpert = 0;        // trained parameters of a rank if it had all layers
  // The fewest bytes that all layers save of a micro-batch, by the maximum recomputation.
  std::array<double, kNumRecomputes> allKept{};
  AxisGroups groups;
  Overlap overlap;
  // Heterogeneous devices: where the stages are, and the costs on each of `devices.kinds`.
  StageDevices devices;
  std::vector<ModelCost> kinds;
  // Seconds of one activation from a stage to the next, at the slowest boundary; and per boundary,
  // if they differ.
  double transferSeconds = 0;
  std::vector<double> transfers;
};

// Returns the cells of the same model, with the same layers, under the decisions' tensor
// parallelism, sequence parallelism and folding of experts.
using CellsOfDecisions = llvm::function_ref<const ModelCells &(const Decisions &)>;

// A cache of costs that many meshes have in common. Belongs to one topology and one precision, and
// to cells that stay at their addresses.
struct KnownCosts {
  explicit KnownCosts(const Topology &topology) : collectives(topology) {}

  // Costs without collectives and groups, keyed by cells and KeptResult::Work.
  std::map<std::pair<const ModelCells *, Decisions>, ModelCost> work;
  KnownCollectives collectives;
  // Costs of stages on a part of a heterogeneous system, keyed by cells, StageDevices::whereOfKind
  // and KeptResult::PartCost.
  std::map<std::tuple<const ModelCells *, std::pair<size_t, int64_t>, Decisions>, ModelCost>
      onParts;
};

// Returns the cost of a model without all that ranks send: no collectives, groups or devices. All
// orders of the axes have the same.
const ModelCost &workOfModel(const ModelCells &cells, const Decisions &decisions,
                             const Topology &topology, const CellPrecision &precision,
                             KnownCosts &known);

// Returns the cost of a model. `known` makes it faster. `cellsOf` returns the cells of stages whose
// tensor parallelism differs from the decisions'.
ModelCost costModel(const ModelCells &cells, const Decisions &decisions, const Topology &topology,
                    const CellPrecision &precision, KnownCosts *known = nullptr,
                    CellsOfDecisions cellsOf = nullptr);

} // namespace dtc
