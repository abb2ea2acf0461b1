// Searches the placements of all ops of a model. Internal to this folder.
#pragma once

#include "compiler/estimate/CellCost.h"
#include "compiler/placement/PlacementNetwork.h"
#include "compiler/placement/ReadCells.h"
#include "compiler/planner/DeviceCosts.h"

namespace dtc {

// The price of memory: seconds per byte of activations kept for one micro-batch, and per byte of
// parameters with their states.
struct MemoryWorth {
  double keptByte = 0, parameterByte = 0;
};

// Seconds are those of a device and of its tensor-parallel group.
struct PlacementBasis {
  RankGroup group; // the ranks of tensor parallelism
  const Topology &topology;
  const CellPrecision &precision;
  const SoftwareStack &software;
  CostWeights weights{};
  KnownCollectives *known = nullptr; // results for the topology, shared between searches
};

// Weights for Megatron's placements: latencies count for nothing, and no work is distributed at the
// price of bytes sent.
constexpr CostWeights kBytesFirst{/*microBatches=*/1024, /*collectives=*/16};

// Returns prices of memory under which the cheapest placements with split weights are those that
// Megatron's authors chose by hand (Shoeybi et al. 2019, arXiv:1909.08053; Korthikanti et al. 2022,
// arXiv:2205.05198). `group`: the ranks of tensor parallelism.
PlacementPrices megatronPrices(const RankGroup &group, const Topology &topology,
                               bool sequenceParallel);

// The ways of placing a step over tensor parallelism, as one cost-function network for the whole
// step that is built once and solved for any worth of memory.
class SplitSearch {
public:
  // Builds the problem; with `foldsExperts`, weights of experts are not split.
  SplitSearch(mlir::ModuleOp step, int64_t tp, bool sequenceParallel, TensorPattern pattern,
              const PlacementBasis &basis, bool foldsExperts);
  SplitSearch(const SplitSearch &) = delete; // parts of it know each other

  // The placements that cost least. Nothing where all are forbidden, of the textbook's pattern
  // after a diagnostic that says so, or where the step could not be read, after a diagnostic.
  std::optional<SearchedPlacements> cheapest(const MemoryWorth &worth) const;

private:
  mlir::ModuleOp step;
  TensorPattern pattern;
  int64_t tp;
  Mesh mesh;
  DeviceCosts costs;
  PlacementNetwork network;
  bool isBuilt;
};

// Searches placements over tensor parallelism for one model.
class PlacementSearcher {
public:
  explicit PlacementSearcher(const FoldedModel &model);

  // The model after the graph phase; null after a diagnostic.
  mlir::ModuleOp differentiated() const { return step ? *step : mlir::ModuleOp(); }

  // SplitSearch for one worth.
  std::optional<SearchedPlacements> cheapest(int64_t tp, bool sequenceParallel,
                                             const MemoryWorth &worth, TensorPattern pattern,
                                             const PlacementBasis &basis,
                                             bool foldsExperts = false) const;

  // Returns the placements of megatronPrices, with split weights. They do not depend on the
  // hardware: the basis is one of the catalogue's, and latencies do not count.
  std::optional<SearchedPlacements>
  megatron(int64_t tp, bool sequenceParallel, bool foldsExperts = false,
           TensorPattern pattern = TensorPattern::SplitWeights) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> step; // after the graph phase
};

// The pattern of the placements that a plan for the software starts from: Megatron's own for all
// that have tensor parallelism written by hand; of dtc, which follows any placement, what sends
// least.
TensorPattern patternOf(const SoftwareStack &software);

// readCells under the placements of PlacementSearcher::megatron.
std::optional<ModelCells> readCells(const FoldedModel &model, int64_t tp, bool sequenceParallel,
                                    bool foldsExperts = false,
                                    TensorPattern pattern = TensorPattern::SplitWeights);

} // namespace dtc
