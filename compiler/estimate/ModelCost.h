// Seconds and bytes of all parts of a model under the decisions that they follow from.
#pragma once

#include "compiler/estimate/CellCost.h"
#include "compiler/estimate/KnownCollectives.h"
#include "compiler/estimate/StagePlaces.h"
#include "compiler/plan/Decisions.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <optional>

namespace dtc {

struct SearchedPlacements;

// Ranks of each axis under an order of axes.
AxisGroups groupsOf(const Decisions &decisions);

// The decisions that the costs of a stage follow from, but for cells and devices; all others are as
// they begin.
Decisions meshOf(const Decisions &decisions);

// Returns the overlap of a mesh's collectives that the software supports. Gathers of keys and
// values end before their attention begins (TransformerEngine, context_parallel.py,
// AttnFuncWithCPAndKVAllGather). Matmuls overlap piecewise with the reduce-scatters and all-gathers
// around them, so only under sequence parallelism, among devices that read each other's memory.
// Source: Megatron-LM, arguments.py ("can happen only when sequence parallelism is enabled");
// TransformerEngine, module/base.py (a "single NVLink domain"); PyTorch's symmetric memory.
Overlap overlapOf(const ModelCells &cells, const AxisGroups &groups, const Topology &topology);

// Embedding and output layer where stages share them out by words.
struct VocabularyCost {
  BlockCost embedding, head; // work that stays on the first and the last chunk
  BlockCost share;           // share of each stage
  double collectives = 0;    // seconds of a micro-batch among the stages, on a stream of their own
};

// Costs of the parts of a model under (tp, sp, cp, ep, micro-batch); shared by all decisions that
// agree in these and in the groups.
struct ModelCost {
  const ModelCells *cells = nullptr;
  // Placements that the cells were read under, if known.
  const SearchedPlacements *placements = nullptr;
  BlockCost embedding, head;
  std::optional<VocabularyCost> vocabulary; // set if stages may share the vocabulary
  std::vector<BlockCost> blocks;
  double tiedParameters = 0;
  double allDense = 0, allExpert = 0; // parameters of a rank if it had all layers
  // The least bytes that all layers keep of a micro-batch, by the most that they recompute.
  std::array<double, kNumRecomputes> allKept{};
  AxisGroups groups;
  Overlap overlap;
  // For heterogeneous devices: the costs on each of `places.kinds`.
  StagePlaces places;
  std::vector<ModelCost> kinds;
  // Seconds to send one activation to the next stage, at the slowest boundary, and by boundary if
  // they differ.
  double transferSeconds = 0;
  std::vector<double> transfers;
};

// The cells of the same model under as many ranks of tensor parallelism, sequence parallelism and
// folding of experts as the decisions say, with the same layers.
using CellsOfDecisions = llvm::function_ref<const ModelCells &(const Decisions &)>;

// Caches results that the costs of many meshes share. Belongs to one topology and one precision,
// and to cells that do not move.
struct KnownCosts {
  explicit KnownCosts(const Topology &topology) : collectives(topology) {}

  // Costs without collectives, which do not depend on groups; key: cells, micro-batch, cp and ep.
  std::map<std::tuple<const ModelCells *, int64_t, int64_t, int64_t>, ModelCost> work;
  KnownCollectives collectives;
  // Costs of stages on one device group; key: cells, StagePlaces::whereOfKind, and the decisions
  // that follow from the mesh.
  std::map<std::tuple<const ModelCells *, std::pair<size_t, int64_t>, Decisions>, ModelCost>
      onParts;
};

// All but what ranks send: no collectives, no groups, no places. The same for all orders of the
// axes.
const ModelCost &workOfModel(const ModelCells &cells, const Decisions &decisions,
                             const Topology &topology, const CellPrecision &precision,
                             KnownCosts &known);

// `known`: the same, faster. `cellsOf` is asked for those of stages that have ranks of tensor
// parallelism of their own.
ModelCost costModel(const ModelCells &cells, const Decisions &decisions, const Topology &topology,
                    const CellPrecision &precision, KnownCosts *known = nullptr,
                    CellsOfDecisions cellsOf = nullptr);

} // namespace dtc
