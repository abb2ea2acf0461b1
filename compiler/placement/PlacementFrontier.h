// The searched placements that are worth trying beside the partitioner's own. Internal to this
// folder.
#pragma once

#include "compiler/estimate/StepEstimate.h"
#include "compiler/placement/PlacementSearch.h"

#include <map>
#include <memory>

namespace dtc {

// A point of the frontier, with what a model does under it.
struct PlacementPoint {
  SearchedPlacements placements;
  ModelCells cells;
};

// For a tensor-parallel degree: a few worths of memory are tried, and what the network finds for
// them is kept where nothing else, the partitioner's placements included, is at least as good in
// seconds of a micro-batch, bytes kept for it, parameters and gradients that are added up once a
// step. The fastest first.
class PlacementFrontier {
public:
  struct Options {
    bool keepsDominated = false;   // what the partitioner's placements dominate is a point, too
    bool mustSplitWeights = false; // a rank may not hold more parameters than under these
  };
  PlacementFrontier(const FoldedModel &model, const EstimateRequest &request,
                    const Options &options)
      : model(model), request(request), options(options) {}

  // `policy`: the cells of the partitioner's own placements.
  const std::vector<PlacementPoint> &of(int64_t tp, bool sequenceParallel,
                                        const ModelCells &policy);

private:
  std::vector<PlacementPoint> search(int64_t tp, bool sequenceParallel, const ModelCells &policy);

  const FoldedModel &model;
  const EstimateRequest &request;
  Options options;
  std::unique_ptr<PlacementSearcher> searcher; // made when it is first needed
  std::map<std::pair<int64_t, bool>, std::vector<PlacementPoint>> points;
};

} // namespace dtc
