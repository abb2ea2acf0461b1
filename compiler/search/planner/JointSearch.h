// Finds the fastest decisions that fit, with a bound on what any others could reach. Internal to
// this folder.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/search/planner/PlacementFrontier.h"
#include "compiler/search/planner/Planner.h"
#include "compiler/search/planner/SearchSpace.h"

#include <functional>
#include <map>

namespace dtc {

// The cost of a start that runs out of memory, as a share of the time of a step. The value is
// assumed; it decides between plans whose predicted times differ by less than the model's errors.
constexpr double kLossOfNotFitting = 0.1;

// Decisions with the estimate of their step.
struct Candidate {
  Decisions decisions;
  StepEstimate step;
  int64_t number = 0; // in the order of costing; ties go to the smaller one
  double fitProbability = 1;

  // Returns the expected seconds of a step, which the search minimises. Never less than
  // stepSeconds.
  double score() const { return step.stepSeconds * (1 + kLossOfNotFitting * (1 - fitProbability)); }
};

// The result of a search.
struct SearchResult {
  std::vector<Candidate> ranked; // candidates that fit, by ascending score
  // The candidate that needs least of the memory that it is short of (StepEstimate::memoryNeed). If
  // nothing fits, it is the best of the whole space; otherwise of those that were costed.
  std::optional<Candidate> leastMemory;
  int64_t costed = 0;
  double lowerBound = 0; // seconds that no decisions of the space can beat, by this cost model
  SearchEnd end = SearchEnd::Bound;
  // Returns true if the bound, not a limit of work or time, ended the search.
  bool complete() const { return end == SearchEnd::Bound; }
  // The placements that Decisions::placement indexes.
  std::map<TensorSplit, std::vector<SearchedPlacements>> placements;

  // Returns the placements of a candidate's decisions.
  const SearchedPlacements &placementsOf(const Decisions &decisions) const;
};

// Settings of a search.
struct SearchOptions {
  int64_t devicesPerNode = 1;
  // Chunks, tasks and bounds after which the search stops with what it has.
  int64_t work = kSearchWork;
  double seconds = kSearchSeconds; // Seconds after which it stops, whatever work was done.
  size_t keep = 200;               // candidates in `ranked`
  size_t refined = 48;             // number of these whose schedule is simulated
  bool ignoreMemory = false;
  bool wantsLeanest = true; // if nothing fits, searches the whole space for the smallest memory
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
  double leanerShare = 0;
};

// Returns the fastest candidates with a bound on all others. Searches best first by lower bound,
// after the expert templates; a mesh whose bound under the best of its placements is not below the
// incumbent is skipped. Ties go to the candidate that is enumerated first. Every candidate is
// costed under every point of the frontier of its tensor parallelism.
SearchResult searchJointly(CellStore &cells, const std::vector<Decisions> &meshes,
                           const SpaceLimits &limits, const Pins &pins,
                           const EstimateRequest &request, const SearchOptions &options);

} // namespace dtc
