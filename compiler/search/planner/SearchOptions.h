// The settings and the inputs of a search. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/price/estimate/StepEstimate.h"
#include "compiler/search/planner/SearchLimits.h"
#include "compiler/search/planner/SpaceLimits.h"

#include <functional>
#include <limits>
#include <vector>

namespace dtc {

// Settings of a search.
struct SearchOptions {
  int64_t devicesPerNode = 1;
  // Chunks, tasks and bounds after which the search stops with what it has.
  int64_t work = kSearchWork;
  double seconds = kSearchSeconds; // Seconds after which it stops, whatever work was done.
  size_t keep = 200;               // candidates in `ranked`
  size_t refined = 48;             // number of these whose schedule is simulated
  bool ignoreMemory = false;
  bool wantsLeastMemory = true; // if nothing fits, searches the whole space for the smallest memory
  // Steps that are slower than these seconds need not be found.
  double fasterThan = std::numeric_limits<double>::infinity();
  bool prune = true; // False costs everything (for tests).
  // Returns the probability that a step fits; none means 1.
  std::function<double(const StepEstimate &)> fitProbability;
  // Candidates whose scores are within this share of the least one tie. All of these that are as
  // simple as the simplest (Simplicity) are costed, without ZeRO in groups, so that they are in
  // `ranked`. 0: candidates that are not faster are not looked for.
  double tie = 0;
  // A share of the memory limit, below 1. Stages also recompute and offload enough for this smaller
  // limit, as a plan that is likelier to fit may have fewer expected seconds. 0 considers the limit
  // alone.
  double lessMemoryShare = 0;
};

// The inputs of a search, which it never changes.
struct SearchInputs {
  const std::vector<Decisions> &meshes; // of enumerateMeshes
  const SpaceLimits &limits;
  const Pins &pins;
  const EstimateRequest &request;
  const SearchOptions &options;
};

} // namespace dtc
