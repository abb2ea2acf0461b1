// The placements over tensor parallelism that are worth costing. Internal to this folder.
#pragma once

#include "compiler/estimate/StepEstimate.h"
#include "compiler/planner/PlacementSearch.h"

#include <map>
#include <memory>

namespace dtc {

// The decisions that placements over tensor parallelism depend on, besides the model.
struct TensorSplit {
  int64_t tp = 1;
  bool sequenceParallel = false, foldsExperts = false;
  auto operator<=>(const TensorSplit &) const = default;
};

// Placements of a model, with what it does under them.
struct PlacementPoint {
  SearchedPlacements placements;
  ModelCells cells;
};

// Megatron's placements of a model by how tensor parallelism splits it, in a pattern that splits
// weights; made when they are first asked for.
class CellStore {
public:
  explicit CellStore(const FoldedModel &model, TensorPattern pattern = TensorPattern::SplitWeights)
      : model(model), pattern(pattern) {}
  // Null where the model can't be partitioned that way.
  const PlacementPoint *point(int64_t tp, bool sequenceParallel, bool foldsExperts = false);
  // Returns the cells of Megatron's placements; null if the model can't be partitioned that way.
  const ModelCells *get(int64_t tp, bool sequenceParallel, bool foldsExperts = false) {
    const PlacementPoint *found = point(tp, sequenceParallel, foldsExperts);
    return found ? &found->cells : nullptr;
  }
  // readCells of the model.
  std::optional<ModelCells> read(int64_t tp, bool sequenceParallel,
                                 const SearchedPlacements &placements, bool foldsExperts);
  const FoldedModel &folded() const { return model; }
  // Returns the searcher, which is made on first use.
  const PlacementSearcher &searcher();

private:
  const FoldedModel &model;
  TensorPattern pattern;
  std::unique_ptr<PlacementSearcher> searching; // made when it is first needed
  std::map<TensorSplit, std::optional<PlacementPoint>> points;
};

// For a tensor-parallel degree: Megatron's placements, and what the network finds for a few worths
// of memory where nothing else is at least as good in seconds of a micro-batch, bytes kept for it,
// parameters and gradients that are added up once a step.
class PlacementFrontier {
public:
  // Settings of a frontier.
  struct Options {
    bool searches = true;          // false: Megatron's alone
    bool keepsDominated = false;   // keeps points that Megatron's dominate
    bool mustSplitWeights = false; // a rank may not hold more parameters than under Megatron's
  };
  PlacementFrontier(CellStore &store, const EstimateRequest &request, const Options &options)
      : store(store), request(request), options(options) {}

  // Megatron's first, then the fastest first. Empty where the model can't be partitioned that way.
  const std::vector<const PlacementPoint *> &of(int64_t tp, bool sequenceParallel,
                                                bool foldsExperts = false);

private:
  std::vector<PlacementPoint> search(const TensorSplit &split, const ModelCells &megatron);

  CellStore &store;
  const EstimateRequest &request;
  Options options;
  std::map<TensorSplit, std::vector<PlacementPoint>> searched;
  std::map<TensorSplit, std::vector<const PlacementPoint *>> points;
};

} // namespace dtc
