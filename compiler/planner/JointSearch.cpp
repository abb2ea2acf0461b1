// Finds the fastest decisions that fit.
#include "compiler/planner/JointSearch.h"

#include "compiler/workload/ApplyStack.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace dtc {

const ModelCells *CellStore::get(int64_t tp, bool sequenceParallel) {
  auto [it, isNew] = cells.try_emplace({tp, sequenceParallel});
  if (isNew)
    it->second = readCells(model, tp, sequenceParallel);
  return it->second ? &*it->second : nullptr;
}

namespace {

// Searched placements are tried where tensor parallelism's collectives take this share of a step.
constexpr double kLeastExposed = 0.002;

struct BoundedMesh {
  size_t index;
  double bound;
};

class Searcher {
public:
  Searcher(CellStore &cells, const std::vector<Decisions> &meshes, const SpaceLimits &limits,
           const Pins &pins, const EstimateRequest &request, const SearchOptions &options)
      : cells(cells), meshes(meshes), limits(limits), pins(pins), request(request),
        options(options), start(std::chrono::steady_clock::now()),
        frontier(cells.folded(), request,
                 {pins.searchedPlacements.value_or(false), pins.tp.has_value()}),
        incumbent(options.fasterThan) {}

  SearchResult run() {
    if (options.prune)
      costTemplates();
    std::vector<BoundedMesh> order = boundMeshes();
    visit(order);
    if (limits.searchesPlacements)
      trySearchedPlacements();
    result.lowerBound = std::min(incumbent, leastLeft);
    result.complete = leastLeft >= incumbent;
    finish();
    return std::move(result);
  }

private:
  using CostKey = std::tuple<int64_t, bool, int, int64_t, int64_t, int64_t, std::string>;

  void visit(const std::vector<BoundedMesh> &order) {
    for (const BoundedMesh &mesh : order) {
      if (options.prune && (mesh.bound >= incumbent || outOfTime())) {
        leastLeft = std::min(leastLeft, mesh.bound);
        break;
      }
      costDetails(meshes[mesh.index]);
    }
  }

  // The best candidates again, under the points of the frontier of their tensor parallelism.
  void trySearchedPlacements() {
    shrink();
    const std::vector<Candidate> best = result.ranked;
    if (pins.searchedPlacements.value_or(false)) { // the others only say where to look
      result.ranked.clear();
      incumbent = options.fasterThan;
    }
    for (const Candidate &candidate : best) {
      Decisions d = candidate.decisions;
      bool mayGain =
          candidate.step.exposedTpSeconds >= kLeastExposed * candidate.step.stepSeconds ||
          pins.searchedPlacements.value_or(false);
      if (d.tp == 1 || outOfTime() || !mayGain)
        continue;
      const std::vector<PlacementPoint> &points =
          frontier.of(d.tp, d.sequenceParallel, *cells.get(d.tp, d.sequenceParallel));
      for (size_t point = 0; point < points.size(); ++point) {
        d.placement = static_cast<int>(point) + 1;
        const ModelCost *model = costOf(d);
        if (!options.prune || lowerBoundSeconds(*model, d, request) < incumbent)
          if (std::optional<Candidate> twin = estimate(*model, d))
            consider(std::move(*twin));
      }
    }
  }

  const ModelCells *cellsOf(const Decisions &d) {
    const ModelCells *policy = cells.get(d.tp, d.sequenceParallel);
    if (d.placement == 0 || !policy)
      return policy;
    return &pointOf(d).cells;
  }

  const PlacementPoint &pointOf(const Decisions &d) {
    const ModelCells &policy = *cells.get(d.tp, d.sequenceParallel);
    return frontier.of(d.tp, d.sequenceParallel, policy)[static_cast<size_t>(d.placement) - 1];
  }

  bool outOfTime() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >
           options.seconds;
  }

  // The cells as the software computes them.
  const ModelCells &appliedOf(const ModelCells &model) {
    auto [it, isNew] = applied.try_emplace(&model);
    if (isNew)
      it->second = applyStack(model, *request.software, request.precision.compute);
    return it->second;
  }

  // Null where the model can't be partitioned that way.
  const ModelCost *costOf(const Decisions &d) {
    const ModelCells *model = cellsOf(d);
    if (!model)
      return nullptr;
    std::string order(d.order.begin(), d.order.end());
    // Groups depend on the sizes that lie inside: all of them are in the key.
    order += ":" + std::to_string(d.dp) + ":" + std::to_string(d.pp);
    order += ":" + std::to_string(d.partOrder);
    CostKey key{d.tp, d.sequenceParallel, d.placement, d.cp, d.ep, d.microBatch, order};
    auto [it, isNew] = costs.try_emplace(key);
    if (isNew)
      it->second = costModel(appliedOf(*model), d, *request.topology, request.precision);
    if (isNew && d.placement != 0)
      it->second.placements = &pointOf(d).placements;
    return &it->second;
  }

  void costTemplates() {
    for (const Decisions &d : expertTemplates(limits, pins, options.devicesPerNode)) {
      if (!templates.insert(d).second)
        continue;
      if (const ModelCost *model = costOf(d))
        if (std::optional<Candidate> candidate = estimate(*model, d))
          consider(std::move(*candidate));
    }
  }

  std::vector<BoundedMesh> boundMeshes() {
    std::vector<BoundedMesh> order;
    for (size_t index = 0; index < meshes.size(); ++index)
      if (const ModelCost *model = costOf(meshes[index]))
        order.push_back({index, leastOf(*model, meshes[index])});
    llvm::sort(order, [](const BoundedMesh &a, const BoundedMesh &b) {
      return std::tie(a.bound, a.index) < std::tie(b.bound, b.index);
    });
    return order;
  }

  // The bound of a mesh is that of its best schedule.
  double leastOf(const ModelCost &model, Decisions mesh) const {
    mesh.schedule = mesh.pp > 1 && pins.allows(ScheduleKind::ZeroBubbleV)
                        ? ScheduleKind::ZeroBubbleV
                        : ScheduleKind::OneForwardOneBackward;
    return lowerBoundSeconds(model, mesh, request);
  }

  void costDetails(const Decisions &mesh) {
    const ModelCost *model = costOf(mesh);
    std::vector<Candidate> candidates;
    for (const Decisions &d : enumerateDetails(mesh, limits, pins)) {
      if (mayHostHelp(d) && maySelectiveHelp(d) && isOpen(*model, d))
        if (std::optional<Candidate> candidate = estimate(*model, d))
          candidates.push_back(std::move(*candidate));
    }
    // The likely best first: it spares others their schedule.
    sortBySeconds(candidates);
    for (Candidate &candidate : candidates)
      consider(std::move(candidate));
  }

  bool isOpen(const ModelCost &model, const Decisions &d) const {
    if (!options.prune)
      return true;
    // Where something fits already, what can't need not be named as the leanest either.
    bool needNotLook = !result.ranked.empty() && !options.ignoreMemory;
    return (!needNotLook || mayFit(model, d, request)) &&
           lowerBoundSeconds(model, d, request) < incumbent && !templates.count(d);
  }

  // What the same decisions with the optimizer on the device say about it: they come before.
  bool mayHostHelp(const Decisions &d) const {
    Decisions without = d;
    without.offloadOptimizer = false;
    bool isKnown = options.prune && d.offloadOptimizer && lastCosted == without;
    return !isKnown || leastWithHost < incumbent;
  }

  // Layers that recompute some make another step only where, in the candidate that comes before,
  // some had to recompute all. Unlike stages are also cut by what layers may recompute.
  bool maySelectiveHelp(Decisions d) const {
    bool isMix = d.recompute == Recompute::None && d.recomputeMost == Recompute::Selective;
    d.offloadOptimizer = false; // its twin need not have been looked at
    return !options.prune || !isMix || !limits.groups.empty() || unlikeWithSelective.count(d);
  }

  void noteMix(const Candidate &candidate) {
    Decisions d = candidate.decisions;
    if (d.recompute != Recompute::None || d.recomputeMost != Recompute::Full ||
        llvm::all_of(candidate.step.stages,
                     [](const StageEstimate &stage) { return stage.fullLayers == 0; }))
      return;
    d.recomputeMost = Recompute::Selective;
    d.offloadOptimizer = false;
    unlikeWithSelective.insert(d);
  }

  // Nothing where it does not fit.
  std::optional<Candidate> estimate(const ModelCost &model, const Decisions &d) {
    ++result.costed;
    Candidate candidate{d, estimateStep(model, d, request), result.costed};
    lastCosted = d;
    noteMix(candidate);
    leastWithHost = candidate.step.leastWithHostSeconds;
    if (!result.leanest || candidate.step.peakBytes < result.leanest->step.peakBytes)
      result.leanest = candidate;
    if (!candidate.step.fits && !options.ignoreMemory)
      return std::nullopt;
    return candidate;
  }

  // Whatever its bound does not rule out is timed by its schedule: the closed form is above that of
  // some, and below that of others.
  void consider(Candidate candidate) {
    if (!options.prune || candidate.step.leastSeconds() < incumbent) {
      refineBySchedule(candidate.step, candidate.decisions);
      incumbent = std::min(incumbent, candidate.step.stepSeconds);
    }
    result.ranked.push_back(std::move(candidate));
    if (result.ranked.size() >= 4 * options.keep)
      shrink();
  }

  // What is not timed by its schedule is not below its bound, and so not before the best.
  static void sortBySeconds(llvm::MutableArrayRef<Candidate> candidates) {
    llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
      return std::tuple(a.step.stepSeconds, !a.step.isRefined, a.number) <
             std::tuple(b.step.stepSeconds, !b.step.isRefined, b.number);
    });
  }

  void shrink() {
    sortBySeconds(result.ranked);
    if (result.ranked.size() > options.keep)
      result.ranked.resize(options.keep);
  }

  void finish() {
    shrink();
    size_t refined = std::min(options.refined, result.ranked.size());
    for (Candidate &candidate : llvm::MutableArrayRef<Candidate>(result.ranked).take_front(refined))
      if (!candidate.step.isRefined)
        refineBySchedule(candidate.step, candidate.decisions);
    sortBySeconds(result.ranked);
    for (const Candidate &candidate : result.ranked)
      keepPlacements(candidate.decisions);
    if (!result.ranked.empty())
      result.lowerBound = std::min(result.lowerBound, result.ranked.front().step.stepSeconds);
  }

  // What the candidate's placements are, for whoever gets the result.
  void keepPlacements(const Decisions &d) {
    std::pair<int64_t, bool> key{d.tp, d.sequenceParallel};
    if (d.placement == 0 || result.placements.count(key))
      return;
    for (const PlacementPoint &point :
         frontier.of(d.tp, d.sequenceParallel, *cells.get(d.tp, d.sequenceParallel)))
      result.placements[key].push_back(point.placements);
  }

  CellStore &cells;
  const std::vector<Decisions> &meshes;
  const SpaceLimits &limits;
  const Pins &pins;
  const EstimateRequest &request;
  const SearchOptions &options;
  std::chrono::steady_clock::time_point start;
  PlacementFrontier frontier;
  std::map<const ModelCells *, ModelCells> applied; // by those of `cells` and `frontier`
  std::map<CostKey, ModelCost> costs;
  std::set<Decisions> templates; // costed already
  std::optional<Decisions> lastCosted;
  std::set<Decisions> unlikeWithSelective; // another step if layers may recompute some
  double leastWithHost = 0;                // seconds, of the same with the optimizer on the host
  double incumbent; // seconds of the best candidate so far, or what it has to beat
  double leastLeft = std::numeric_limits<double>::infinity(); // bound of what was not looked at
  SearchResult result;
};

} // namespace

const SearchedPlacements *SearchResult::placementsOf(const Decisions &decisions) const {
  if (decisions.placement == 0)
    return nullptr;
  return &placements.at({decisions.tp, decisions.sequenceParallel})
              .at(static_cast<size_t>(decisions.placement) - 1);
}

SearchResult searchJointly(CellStore &cells, const std::vector<Decisions> &meshes,
                           const SpaceLimits &limits, const Pins &pins,
                           const EstimateRequest &request, const SearchOptions &options) {
  return Searcher(cells, meshes, limits, pins, request, options).run();
}

} // namespace dtc
