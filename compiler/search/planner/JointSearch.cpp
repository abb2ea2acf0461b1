// Finds the fastest decisions that fit.
#include "compiler/search/planner/JointSearch.h"

#include "compiler/search/planner/DetailSearch.h"
#include "compiler/search/planner/ExpertTemplates.h"
#include "compiler/search/planner/LeastMemorySearch.h"
#include "compiler/search/planner/MeshQueue.h"

#include <set>

namespace dtc {
namespace {

// The steps of a search, which share their costs and count their work together.
class Searcher {
public:
  Searcher(CellStore &cells, const SearchInputs &inputs)
      : inputs(inputs), options(inputs.options), work(inputs.options),
        costs(cells, inputs.limits, inputs.pins, inputs.request),
        coster(inputs, costs, work, smallest) {}

  SearchResult run() {
    FastestContest contest(options, work);
    GroupSearch groups(inputs, costs, work);
    std::set<Decisions> templates;
    if (options.prune)
      templates = costTemplates(contest, groups);
    std::vector<BoundedMesh> order = boundMeshes(inputs, costs, contest.toBeat());
    DetailSearch details(inputs, costs, work, coster, templates, &groups, contest);
    visit(order, details, contest);
    groups.run(coster, contest);
    if (contest.isEmpty() && !options.ignoreMemory && options.wantsLeastMemory)
      LeastMemorySearch(inputs, costs, work, smallest).run();
    SearchResult result;
    result.lowerBound = contest.lowerBound();
    if (contest.isOpen())
      result.end = work.limit();
    result.ranked = contest.finish();
    for (const Candidate &candidate : result.ranked)
      if (candidate.step.isRefined)
        result.lowerBound = std::min(result.lowerBound, candidate.step.stepSeconds);
    if (options.tie > 0 && options.prune)
      result.ranked = withTies(std::move(result.ranked), order);
    for (const Candidate &candidate : result.ranked)
      keepPlacements(candidate.decisions, result);
    result.leastMemory = std::move(smallest.candidate);
    result.costed = work.costed();
    return result;
  }

private:
  // Costs the plans that engineers set by hand, so that there are seconds to beat. Returns them.
  std::set<Decisions> costTemplates(FastestContest &contest, GroupSearch &groups) {
    std::set<Decisions> templates;
    for (Decisions d : expertTemplates(inputs.limits, inputs.pins, options.devicesPerNode)) {
      llvm::SmallVector<int, 4> points = costs.placementsOf(d);
      if (points.empty())
        continue;
      d.placement = points.front();
      const ModelCost &model = costs.costOf(d);
      if (!coster.mayFit(model, d) || !templates.insert(d).second)
        continue;
      Costed costed = coster.cost(model, d);
      GroupNotes(inputs, model, contest, &groups).note(d, costed.leastOfGroups, costed.sameCut);
      if (costed.counts)
        coster.enter(std::move(costed.candidate), contest);
    }
    return templates;
  }

  // Costs the meshes that may win, the most promising first.
  void visit(llvm::ArrayRef<BoundedMesh> order, DetailSearch &details, FastestContest &contest) {
    for (const BoundedMesh &mesh : order) {
      if (contest.isBeaten(mesh.bound) || (options.prune && work.isSpent())) {
        contest.leaveOut(mesh.bound);
        break;
      }
      details.run(inputs.meshes[mesh.index]);
    }
  }

  // Returns the ranked candidates with others that may tie with the best and have no more
  // mechanisms than the simplest that does.
  std::vector<Candidate> withTies(std::vector<Candidate> ranked,
                                  llvm::ArrayRef<BoundedMesh> order) {
    if (ranked.empty() || ranked.front().score() >= options.fasterThan)
      return ranked;
    TieContest contest(options, work, std::move(ranked));
    const std::set<Decisions> noTemplates;
    DetailSearch details(inputs, costs, work, coster, noTemplates, /*groups=*/nullptr, contest);
    for (const BoundedMesh &mesh : order) {
      if (mesh.bound > contest.toBeat() || work.isSpent())
        break;
      if (contest.mayTie(inputs.meshes[mesh.index]))
        details.run(inputs.meshes[mesh.index]);
    }
    return contest.finish();
  }

  // Keeps the placements of a candidate for the users of the result.
  void keepPlacements(const Decisions &d, SearchResult &result) {
    std::vector<SearchedPlacements> &known = result.placements[TensorSplit::of(d)];
    // There may be fewer of them if rows of experts are exchanged.
    for (const PlacementPoint *point :
         llvm::drop_begin(costs.frontierOf(d), std::min(known.size(), costs.frontierOf(d).size())))
      known.push_back(point->placements);
  }

  const SearchInputs &inputs;
  const SearchOptions &options;
  SearchWork work;
  MeshCosts costs;
  SmallestNeed smallest;
  CandidateCoster coster;
};

} // namespace

SearchResult searchJointly(CellStore &cells, const std::vector<Decisions> &meshes,
                           const SpaceLimits &limits, const Pins &pins,
                           const EstimateRequest &request, const SearchOptions &options) {
  SearchInputs inputs{meshes, limits, pins, request, options};
  return Searcher(cells, inputs).run();
}

} // namespace dtc
