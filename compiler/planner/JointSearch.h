// Finds the fastest decisions that fit, with a bound on what any others could reach. Internal to
// this folder.
#pragma once

#include "compiler/placement/PlacementFrontier.h"
#include "compiler/planner/SearchSpace.h"
#include "compiler/workload/ReadCells.h"

#include <functional>
#include <map>

namespace dtc {

struct Candidate {
  Decisions decisions;
  StepEstimate step;
  int64_t number = 0; // in the order of costing; ties go to the smaller one
};

struct SearchResult {
  std::vector<Candidate> ranked; // that fit, the fastest first
  // The one that needs least memory of those that were costed, whether it fits or not.
  std::optional<Candidate> leanest;
  int64_t costed = 0;
  double lowerBound = 0; // seconds that no decisions of the space can beat, by this cost model
  bool complete = true;  // the search ended by its bound, not by the clock
  // What Decisions::placement numbers, from 1: by (tp, sequence parallelism).
  std::map<std::pair<int64_t, bool>, std::vector<SearchedPlacements>> placements;

  // Null for the partitioner's own.
  const SearchedPlacements *placementsOf(const Decisions &decisions) const;
};

// The cells of a model by tensor-parallel degree, read when they are first asked for.
class CellStore {
public:
  explicit CellStore(const FoldedModel &model) : model(model) {}
  // Null where the model can't be partitioned that way.
  const ModelCells *get(int64_t tp, bool sequenceParallel);
  const FoldedModel &folded() const { return model; }

private:
  const FoldedModel &model;
  std::map<std::pair<int64_t, bool>, std::optional<ModelCells>> cells;
};

struct SearchOptions {
  int64_t devicesPerNode = 1;
  double seconds = 60; // stop then with what there is
  size_t keep = 200;   // candidates in `ranked`
  size_t refined = 48; // of these, timed by the schedule itself
  bool ignoreMemory = false;
  double fasterThan = std::numeric_limits<double>::infinity(); // what is not need not be found
  bool prune = true;                                           // false: cost everything (for tests)
};

// Best first by lower bound, expert templates first of all; a mesh whose bound is not below the
// incumbent is not looked at. Ties go to the candidate that is enumerated first. Then, where the
// limits say so, the best candidates are tried with searched placements.
SearchResult searchJointly(CellStore &cells, const std::vector<Decisions> &meshes,
                           const SpaceLimits &limits, const Pins &pins,
                           const EstimateRequest &request, const SearchOptions &options);

} // namespace dtc
