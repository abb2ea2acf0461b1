// Searches the placements of all ops of a model. Internal to this folder.
#pragma once

#include "compiler/price/estimate/CellCost.h"
#include "compiler/search/placement/PlacementNetwork.h"
#include "compiler/search/placement/ReadCells.h"
#include "compiler/search/planner/DeviceCosts.h"

namespace dtc {

// The price of memory: seconds per byte of saved activations of one micro-batch, and per byte of
// parameters with their states.
struct MemoryWorth {
  double keptByte = 0, parameterByte = 0;
};

// The device and its tensor-parallel group, whose seconds the search minimises.
struct PlacementBasis {
  RankGroup group; // the ranks of tensor parallelism
  const Topology &topology;
  const CellPrecision &precision;
  const SoftwareStack &software;
  CostWeights weights{};
  KnownCollectives *known = nullptr; // results for the topology, shared between searches
};

// Weights for Megatron's placements: latencies are negligible, and bytes sent cost more than work
// that every rank repeats.
constexpr CostWeights kBytesFirst{/*microBatches=*/1024, /*collectives=*/16};

// Returns prices of memory under which the cheapest placements with split weights are those that
// Megatron's authors chose by hand (Shoeybi et al. 2019, arXiv:1909.08053; Korthikanti et al. 2022,
// arXiv:2205.05198). `group` has the ranks of tensor parallelism.
PlacementPrices megatronPrices(const RankGroup &group, const Topology &topology,
                               bool sequenceParallel);

// The ways of placing a step over tensor parallelism, as one cost-function network for the whole
// step that is built once and solved for any worth of memory.
class SplitSearch {
public:
  // Builds the problem; with `foldsExperts`, weights of experts are not split.
  SplitSearch(mlir::ModuleOp step, int64_t tp, bool sequenceParallel, TensorPattern pattern,
              const PlacementBasis &basis, bool foldsExperts);
  SplitSearch(const SplitSearch &) = delete; // Not copied: members keep references to each other.

  // Returns the cheapest placements at a price of memory. Returns nullopt if all are forbidden
  // (with a diagnostic for the textbook's pattern), or after a diagnostic if the step could not be
  // read.
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

  // Returns the model after the graph phase; null after a diagnostic.
  mlir::ModuleOp differentiated() const { return step ? *step : mlir::ModuleOp(); }

  // Builds a SplitSearch and returns its cheapest placements at one price of memory.
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

// Returns the pattern of the placements that a plan for the software starts from: Megatron's for
// software whose tensor parallelism is written by hand, and the one that sends fewest bytes for
// dtc, which follows any placement.
TensorPattern patternOf(const SoftwareStack &software);

// Returns readCells under the placements of PlacementSearcher::megatron; nullopt if there are none.
std::optional<ModelCells> readCells(const FoldedModel &model, int64_t tp, bool sequenceParallel,
                                    bool foldsExperts = false,
                                    TensorPattern pattern = TensorPattern::SplitWeights);

} // namespace dtc
