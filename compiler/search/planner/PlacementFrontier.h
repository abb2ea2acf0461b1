// The placements over tensor parallelism that are worth costing. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Experts.h"
#include "compiler/price/estimate/StepEstimate.h"
#include "compiler/search/placement/ReadCells.h"
#include "compiler/search/planner/PlacementSearch.h"

#include <map>
#include <memory>

namespace dtc {

// Placements of a model, with the costs of its blocks under them.
struct PlacementPoint {
  SearchedPlacements placements;
  ModelCells cells;
};

// Megatron's placements of a model for each way to split it by tensor parallelism, in one tensor
// pattern. They are computed on first use.
class CellStore {
public:
  // `runsPrograms`: of the software. Its programs of models without drops exchange rows of experts,
  // and cells are read of each number of ranks that these are on.
  explicit CellStore(const FoldedModel &model, TensorPattern pattern = TensorPattern::SplitWeights,
                     bool runsPrograms = false)
      : model(model), pattern(pattern), runsPrograms(runsPrograms) {}
  // Returns Megatron's placements with their cells; null if the model can't be partitioned that
  // way.
  const PlacementPoint *point(int64_t tp, bool sequenceParallel, bool foldsExperts = false);
  // Returns the cells of Megatron's placements; null if the model can't be partitioned that way.
  const ModelCells *get(int64_t tp, bool sequenceParallel, bool foldsExperts = false) {
    const PlacementPoint *found = point(tp, sequenceParallel, foldsExperts);
    return found ? &found->cells : nullptr;
  }
  // Returns the model's readCells under the placements; nullopt if the model can't be partitioned.
  std::optional<ModelCells> read(int64_t tp, bool sequenceParallel,
                                 const SearchedPlacements &placements, bool foldsExperts,
                                 const RowExchange &exchange = {});
  // Returns how the program of the decisions exchanges rows of experts; among 1 rank: it does not.
  RowExchange rowExchangeOf(const Decisions &decisions) const {
    return runsPrograms ? dtc::rowExchangeOf(model, decisions) : RowExchange();
  }
  const FoldedModel &folded() const { return model; }
  // Returns the searcher, which is made on first use.
  const PlacementSearcher &searcher();

private:
  const FoldedModel &model;
  TensorPattern pattern;
  bool runsPrograms;
  std::unique_ptr<PlacementSearcher> searching;                       // made on first use
  std::map<RowExchange, mlir::OwningOpRef<mlir::ModuleOp>> exchanged; // differentiated
  std::map<TensorSplit, std::optional<PlacementPoint>> points;
};

// The placements of a model for each tensor-parallel degree: Megatron's, and those that the network
// finds for a few prices of memory. A point is kept if no other is at least as good in the seconds
// of a micro-batch, the saved bytes of a micro-batch, the parameters, and the gradients that are
// reduced once a step.
class PlacementFrontier {
public:
  // Settings of a frontier.
  struct Options {
    bool searches = true;          // False uses Megatron's placements alone.
    bool keepsDominated = false;   // keeps points that Megatron's dominate
    bool mustSplitWeights = false; // A rank may not hold more parameters than under Megatron's.
  };
  PlacementFrontier(CellStore &store, const EstimateRequest &request, const Options &options)
      : store(store), request(request), options(options) {}

  // Returns the points, Megatron's first and then the fastest first. Empty if the model can't be
  // partitioned that way.
  const std::vector<const PlacementPoint *> &of(int64_t tp, bool sequenceParallel,
                                                bool foldsExperts = false);
  // Returns the points of decisions: the same placements, with the cells of their program. It ends
  // before the first point whose program can't be partitioned.
  const std::vector<const PlacementPoint *> &of(const Decisions &decisions);

private:
  std::vector<PlacementPoint> search(const TensorSplit &split, const ModelCells &megatron);

  CellStore &store;
  const EstimateRequest &request;
  Options options;
  std::map<TensorSplit, std::vector<PlacementPoint>> searched;
  std::map<TensorSplit, std::vector<const PlacementPoint *>> points;
  // Points whose programs exchange rows, by how they do.
  struct ExchangedPoints {
    std::vector<std::unique_ptr<PlacementPoint>> own;
    std::vector<const PlacementPoint *> all;
  };
  std::map<std::pair<TensorSplit, RowExchange>, ExchangedPoints> exchanged;
};

} // namespace dtc
