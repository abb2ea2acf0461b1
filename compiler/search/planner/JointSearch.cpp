// Finds the fastest decisions that fit.
#include "compiler/search/planner/JointSearch.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/price/estimate/SharedEstimates.h"
#include "compiler/search/planner/ContextKinds.h"
#include "compiler/search/planner/Costed.h"
#include "compiler/search/planner/DescribePlan.h"
#include "compiler/search/planner/EquivalentSchedules.h"
#include "compiler/search/planner/MemoryChoices.h"
#include "compiler/search/planner/MeshCosts.h"
#include "compiler/search/planner/Simplicity.h"
#include "compiler/search/planner/ZeroGroups.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace dtc {

namespace {

struct BoundedMesh {
  size_t index;
  double bound; // lower bound in seconds, under the best of its placements
};

// Limits of the extra search for the plan with the smallest memory, after a search that found none
// that fits.
constexpr int64_t kWorkOfLeanest = kSearchWork / 6;
constexpr double kSecondsOfLeanest = kSearchSeconds / 6;
// The smallest improvement of the memory need that is worth another cut.
constexpr double kFinerNeed = 2e-3;

class Searcher {
public:
  Searcher(CellStore &cells, const std::vector<Decisions> &meshes, const SpaceLimits &limits,
           const Pins &pins, const EstimateRequest &request, const SearchOptions &options)
      : meshes(meshes), limits(limits), pins(pins), request(request), options(options),
        start(std::chrono::steady_clock::now()), costs(cells, limits, pins, request),
        bounding(request), incumbent(options.fasterThan) {
    bounding.shared = &boundedOne;
  }

  SearchResult run() {
    if (options.prune)
      costTemplates();
    std::vector<BoundedMesh> order = boundMeshes();
    visit(order);
    visitGroups();
    if (result.ranked.empty() && !options.ignoreMemory && options.wantsLeanest)
      findLeanest();
    result.lowerBound = std::min({incumbent, leastLeft, fastest});
    if (leastLeft < incumbent)
      result.end = work > options.work ? SearchEnd::Work : SearchEnd::Seconds;
    finish();
    if (options.tie > 0 && options.prune)
      costTies(order);
    return std::move(result);
  }

private:
  void visit(const std::vector<BoundedMesh> &order) {
    for (const BoundedMesh &mesh : order) {
      if (options.prune && (mesh.bound >= incumbent || isSpent())) {
        leastLeft = std::min(leastLeft, mesh.bound);
        break;
      }
      costMesh(meshes[mesh.index]);
    }
  }

  // Costs candidates that may tie with the best and have no more mechanisms than the simplest that
  // does. Candidates that are in `ranked` already get their pipeline schedule simulated if that may
  // make them tie.
  void costTies(llvm::ArrayRef<BoundedMesh> order) {
    if (result.ranked.empty() || result.ranked.front().score() >= options.fasterThan)
      return;
    incumbent = result.ranked.front().score() * (1 + options.tie);
    mostComplex = std::numeric_limits<int>::max();
    for (Candidate &candidate : result.ranked) {
      known.insert(candidate.decisions);
      int complexity = complexityOf(decisionsOf(candidate));
      if (complexity > *mostComplex || candidate.step.leastSeconds() > incumbent)
        continue;
      refine(candidate);
      if (candidate.score() <= incumbent)
        mostComplex = complexity;
    }
    for (const BoundedMesh &mesh : order) {
      if (mesh.bound > incumbent || isSpent())
        break;
      if (leastComplexityOf(meshes[mesh.index]) <= *mostComplex)
        costMesh(meshes[mesh.index]);
    }
    sortByScore(result.ranked);
    for (const Candidate &candidate : result.ranked)
      keepPlacements(candidate.decisions);
  }

  void leaveOutComplex(std::vector<Decisions> &details) const {
    if (mostComplex)
      llvm::erase_if(details, [&](const Decisions &d) {
        return leastComplexityOf(d) > *mostComplex || known.count(d);
      });
  }

  void refine(Candidate &candidate) {
    if (candidate.step.isRefined)
      return;
    work += tasksOf(candidate.decisions);
    refineBySchedule(candidate.step, candidate.decisions);
  }

  // Ranks a candidate of the search for ties.
  void rankTie(Candidate candidate) {
    if (candidate.step.leastSeconds() > incumbent)
      return;
    refine(candidate);
    if (candidate.score() > incumbent)
      return;
    mostComplex = std::min(*mostComplex, complexityOf(decisionsOf(candidate)));
    result.ranked.push_back(std::move(candidate));
  }

  // Returns true if the work or the seconds of the search are used up. `isForLeanest` includes
  // those that are added for the plan that needs the smallest memory.
  bool isSpent(bool isForLeanest = false) const {
    int64_t mayWork = options.work + (isForLeanest ? kWorkOfLeanest : 0);
    double maySeconds = options.seconds + (isForLeanest ? kSecondsOfLeanest : 0);
    return work > mayWork ||
           std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >
               maySeconds;
  }

  void costTemplates() {
    for (Decisions d : expertTemplates(limits, pins, options.devicesPerNode)) {
      llvm::SmallVector<int, 4> points = costs.placementsOf(d);
      if (points.empty())
        continue;
      d.placement = points.front();
      if (!mayFitAtAll(costs.costOf(d), d) || !templates.insert(d).second)
        continue;
      Costed costed = estimate(costs.costOf(d), d);
      noteGroups(costs.costOf(d), d, costed.leastOfGroups, costed.sameCut);
      if (costed.candidate)
        consider(std::move(*costed.candidate));
    }
  }

  std::vector<BoundedMesh> boundMeshes() {
    std::vector<BoundedMesh> order;
    for (size_t index = 0; index < meshes.size(); ++index) {
      Decisions mesh = meshes[index];
      double bound = std::numeric_limits<double>::infinity();
      llvm::SmallVector<int, 4> points = costs.placementsOf(mesh);
      for (int point : points) {
        mesh.placement = point;
        bound = std::min(bound, leastOfPoint(mesh));
      }
      if (!points.empty())
        order.push_back({index, bound});
    }
    llvm::sort(order, [](const BoundedMesh &a, const BoundedMesh &b) {
      return std::tie(a.bound, a.index) < std::tie(b.bound, b.index);
    });
    return order;
  }

  // Returns a lower bound in seconds of a mesh. Most meshes are visited once, so the cost of one
  // whose bound is not below the incumbent is not kept; a mesh whose work alone is not below it is
  // not even costed. Returns infinity if another kind of context parallelism is never worse.
  double leastOfPoint(const Decisions &mesh) {
    if (!options.prune)
      return leastOf(costs.costOf(mesh), mesh, request);
    boundedOne = {};
    double floor = costs.floorOf(mesh, bounding);
    if (floor >= incumbent)
      return floor;
    const ModelCost *known = costs.find(mesh);
    std::optional<ModelCost> cost;
    if (!known)
      cost = costs.costAnew(mesh);
    const ModelCost &model = known ? *known : *cost;
    if (mesh.cp > 1 && contextKinds.isRuledOut(mesh, model))
      return std::numeric_limits<double>::infinity();
    double bound = leastOf(model, mesh, bounding);
    if (cost && bound < incumbent)
      costs.keep(mesh, std::move(*cost));
    return bound;
  }

  double leastOf(const ModelCost &model, const Decisions &mesh,
                 const EstimateRequest &under) const {
    return leastOfSchedules(model, mesh, limits, pins, under);
  }

  // Costs the details of a mesh under each point of its frontier. The first point sets the bounds
  // that the others have to beat.
  void costMesh(Decisions mesh) {
    std::vector<double> floors;
    const ModelCost *first = nullptr;
    for (int point : costs.placementsOf(mesh)) {
      mesh.placement = point;
      const ModelCost *model = &costs.costOf(mesh);
      ++work;
      if (options.prune && leastOf(*model, mesh, request) >= incumbent)
        continue; // A step with ZeRO in groups is not below this bound either.
      double ratio = first ? leastRatio(*model, *first) : 1;
      costDetails(mesh, *model, ratio, floors);
      first = first ? first : model;
    }
  }

  // Costs the details of a mesh under one point. The first point fills `floors` with the least
  // seconds of each detail under any recomputation. Another point makes no part of a step faster
  // than by `ratio`, so that its details take ratio x floor or more.
  void costDetails(const Decisions &mesh, const ModelCost &model, double ratio,
                   std::vector<double> &floors) {
    if (mostComplex) // each point has details of its own then
      floors.clear();
    bool isFirst = floors.empty();
    if (isFirst)
      groupFloors.clear();
    boundsWithoutGathers.clear();
    std::vector<Candidate> candidates;
    std::vector<Decisions> details = enumerateDetails(mesh, limits, pins);
    leaveOutComplex(details);
    equivalent.clear();
    std::optional<Costed> before; // the detail that was costed last
    const Decisions *last = nullptr;
    double ofSchedule = 0; // Seconds that no detail of the last one's pipeline schedule beats.
    for (auto [index, d] : llvm::enumerate(details)) {
      if (!last || last->schedule != d.schedule || last->virtualStages != d.virtualStages)
        ofSchedule = leastOfSchedule(model, mesh, d);
      last = &d;
      if (options.prune && ofSchedule >= incumbent) {
        if (isFirst) {
          floors.push_back(ofSchedule);
          groupFloors.push_back(ofSchedule);
        }
        continue;
      }
      if (isFirst) {
        floors.push_back(0);
        groupFloors.push_back(0);
      } else if (options.prune && ratio * floors[index] >= incumbent) {
        noteGroups(model, d, ratio * groupFloors[index]);
        continue;
      }
      if (before && !mayHostHelp(d, *before)) {
        if (isFirst)
          floors.back() = before->leastWithHost;
        noteUnfit(model, d);
        continue;
      }
      bool isOfKin = false;
      double bound = leastOfDetail(model, d, isOfKin);
      if (isFirst) {
        // Copies to the host do not follow from the times of passes.
        floors.back() = d.layersOnHost == LayersOnHost::All ? 0 : bound;
        // For ZeRO-1 the bound does not depend on groups, unless it came from a step of an
        // equivalent schedule.
        groupFloors.back() = d.zero == 1 && !isOfKin ? floors.back() : 0;
      }
      if (!isOpen(model, d, bound)) {
        noteClosed(model, d);
        continue;
      }
      if (!mayFitFaster(model, d)) {
        noteUnfit(model, d);
        continue;
      }
      before = estimate(model, d);
      noteGroups(model, d, before->leastOfGroups, before->sameCut);
      if (isFirst) {
        floors.back() = std::max(floors.back(), before->leastWithoutRecomputation);
        groupFloors.back() =
            std::max(groupFloors.back(), before->leastOfGroupsWithoutRecomputation);
      }
      if (before->candidate)
        candidates.push_back(std::move(*before->candidate));
    }
    // The likely best come first, as they save others the simulation of their pipeline schedule.
    sortByScore(candidates);
    for (Candidate &candidate : candidates)
      consider(std::move(candidate));
  }

  // Returns a bound under any ZeRO stage and recomputation. Returns 0 if stages may share the
  // vocabulary, as they have less of it then.
  double leastOfSchedule(const ModelCost &model, Decisions mesh, const Decisions &detail) {
    if (model.vocabulary)
      return 0;
    ++work;
    mesh.schedule = detail.schedule;
    mesh.virtualStages = detail.virtualStages;
    return lowerBoundSeconds(model, mesh, request);
  }

  // Returns a bound of a detail. A bound known from an equivalent schedule is no lower than the
  // detail's own, which holds for both.
  double leastOfDetail(const ModelCost &model, const Decisions &d, bool &isOfKin) {
    double known = options.prune ? equivalent.leastOf(d) : 0;
    isOfKin = known > 0;
    if (isOfKin)
      return known;
    double bound = lowerBoundSeconds(model, d, request);
    ++work;
    equivalent.noteBound(d, bound);
    return bound;
  }

  bool isOpen(const ModelCost &model, const Decisions &d, double bound) const {
    if (!options.prune)
      return true;
    return bound < incumbent && mayFitAtAll(model, d) && (mostComplex || !templates.count(d));
  }

  bool mayFitAtAll(const ModelCost &model, const Decisions &d) const {
    return options.ignoreMemory || mayFit(model, d, request);
  }

  // Returns true if the detail may still win with the recomputation that it needs to fit.
  bool mayFitFaster(const ModelCost &model, const Decisions &d) const {
    return !options.prune || options.ignoreMemory || mayFitWithin(model, d, request, incumbent);
  }

  // Notes that ZeRO in groups stays open for decisions that do not fit over all of dp. Groups need
  // more memory, and their update is no shorter; only the transfers of ZeRO-2 and 3 may take less.
  void noteUnfit(const ModelCost &model, const Decisions &d) {
    if (d.zero > 1)
      noteGroups(model, d, 0);
  }

  // Returns a SameCut without bounds if the step is no ZeRO-1, does not fit, or memory influenced
  // its cut.
  SameCut sameCutOf(const ModelCost &model, const Candidate &candidate) const {
    const StepEstimate &step = candidate.step;
    const Decisions &d = candidate.decisions;
    if (d.zero != 1 || !step.fits || step.isCutByMemory || step.otherCut || !model.kinds.empty() ||
        request.programs)
      return {};
    SameCut same{(step.stepSeconds - step.loopSeconds + step.leastLoopSeconds -
                  step.exposedGradientSeconds) *
                     (1 - 1e-9),
                 std::numeric_limits<double>::infinity()};
    for (const StageEstimate &stage : step.stages) {
      double room = stage.memoryLimit - stage.memory.total() - model.cells->process.perCommunicator;
      if (stage.memory.optimizer > 0 || room < 0)
        same.mostTimesMore =
            std::min(same.mostTimesMore, room < 0 ? -1 : room / stage.memory.optimizer);
    }
    return same;
  }

  // Decisions that may still win with ZeRO in groups, and the least seconds of such a step.
  struct OpenGroups {
    double least;
    Decisions overAll;
    SameCut same = {};
  };

  // Adds the decisions to `openGroups` unless a bound rules out ZeRO in groups. The bounds are
  // `least` and `same`, from the same decisions over all of dp if they were costed, and that of a
  // step in which ZeRO sends nothing.
  void noteGroups(const ModelCost &model, const Decisions &d, double least, SameCut same = {}) {
    if (mostComplex || !mayHaveGroups(d, limits, pins))
      return;
    if (options.prune && least < incumbent) {
      Decisions without = d;
      without.zero = 1; // The bound of ZeRO-1 has no ZeRO traffic.
      auto [bound, isNew] = boundsWithoutGathers.try_emplace(without, 0.0);
      if (isNew)
        bound->second = lowerBoundSeconds(model, without, request);
      least = std::max(least, bound->second);
    }
    if (least < incumbent || !options.prune)
      openGroups.push_back({least, d, same});
  }

  // Notes ZeRO in groups for a detail that is not costed over all of dp. Nothing is noted for a
  // template, which has been noted, or for a detail that can't fit. If it is too slow and ZeRO-1,
  // groups are too slow as well, provided that the bound is its own and not that of an equivalent
  // schedule.
  void noteClosed(const ModelCost &model, const Decisions &d) {
    bool isDone = !mayHaveGroups(d, limits, pins) || !mayFitAtAll(model, d) || templates.count(d);
    if (!isDone)
      noteGroups(model, d, d.zero == 1 ? lowerBoundSeconds(model, d, request) : 0);
  }

  // Costs ZeRO in groups at the end, when the incumbent leaves little of it open.
  void visitGroups() {
    if (options.prune)
      llvm::erase_if(openGroups, [&](const OpenGroups &open) {
        bool isClosed = open.least >= incumbent;
        if (isClosed)
          leastLeft = std::min(leastLeft, open.least);
        return isClosed;
      });
    llvm::sort(openGroups, [](const OpenGroups &a, const OpenGroups &b) {
      return std::tie(a.least, a.overAll) < std::tie(b.least, b.overAll);
    });
    for (const OpenGroups &open : openGroups) {
      if (options.prune && (open.least >= incumbent || isSpent())) {
        leastLeft = std::min(leastLeft, open.least);
        break;
      }
      const ModelCost &model = costs.costOf(open.overAll);
      for (const Decisions &d : enumerateGroups(open.overAll, limits, pins)) {
        ++work;
        double timesMore = static_cast<double>(d.dp) / static_cast<double>(d.zeroRanks()) - 1;
        if (options.prune && timesMore <= open.same.mostTimesMore && open.same.least >= incumbent)
          continue;
        if (!isOpen(model, d, lowerBoundSeconds(model, d, request)) || !mayFitFaster(model, d))
          continue;
        if (std::optional<Candidate> candidate = estimate(model, d).candidate)
          consider(std::move(*candidate));
      }
    }
  }

  // Returns false if `before`, the same decisions with the optimizer on the device, rules `d` out.
  // Such decisions are costed directly before.
  bool mayHostHelp(const Decisions &d, const Costed &before) const {
    Decisions without = d;
    without.offloadOptimizer = false;
    bool isKnown = options.prune && d.offloadOptimizer && before.decisions == without;
    return !isKnown || before.leastWithHost < incumbent;
  }

  Costed estimate(const ModelCost &model, const Decisions &d) {
    ++result.costed;
    work += d.pp * d.virtualStages;
    Candidate candidate{d, estimateStep(model, d, request), result.costed};
    const StepEstimate &step = candidate.step;
    if (options.prune && d.pp > 1 && model.kinds.empty())
      equivalent.note(d, step);
    if (options.fitProbability)
      candidate.fitProbability = options.fitProbability(step);
    Costed costed;
    costed.decisions = d;
    // A smaller memory makes no step faster, but may make it likelier to fit.
    costed.leastWithHost = step.hostGainsMemoryAlone && candidate.fitProbability == 1
                               ? std::numeric_limits<double>::infinity()
                               : step.leastWithHostSeconds;
    if (model.kinds.empty() && !request.programs)
      costed.leastOfGroups = leastSecondsInGroups(step, d);
    costed.sameCut = sameCutOf(model, candidate);
    double forMemory = step.recomputeSeconds + step.exposedHostSeconds;
    if (step.fits && costed.leastOfGroups > 0)
      costed.leastOfGroupsWithoutRecomputation = costed.leastOfGroups - forMemory;
    // Another cut may need less recomputation.
    if (!step.isCutByMemory && !step.otherCut)
      costed.leastWithoutRecomputation = step.leastSeconds() - forMemory;
    noteLeanest(candidate);
    if (step.fits || options.ignoreMemory)
      costed.candidate = std::move(candidate);
    return costed;
  }

  void noteLeanest(const Candidate &candidate) {
    if (!result.leastMemory || candidate.step.memoryNeed < result.leastMemory->step.memoryNeed)
      result.leastMemory = candidate;
  }

  // Costs the candidates with the smallest memory for each way to spread the model over the
  // devices: the smallest micro-batch, and as much recomputation as possible. The order of axes
  // makes no difference to memory, and the first available kind of context parallelism needs least.
  void findLeanest() {
    visitLeanMeshes([this](const ModelCost &model, Decisions d, Recompute most) {
      if (d.recompute == most) // ZeRO over all of dp needs least.
        costLeaner(model, d);
      if (d.layersOnHost == LayersOnHost::Some) {
        d = withOnHost(d, LayersOnHost::All);
        if (isAllowed(d, limits))
          costLeaner(model, d);
      }
    });
    if (!result.leastMemory || request.programs || result.leastMemory->step.hostIsShort)
      return;
    // Stages that are cut by memory may need less than those above, which are cut by seconds. The
    // cut is repeated as long as the need falls.
    visitLeanMeshes([this](const ModelCost &model, const Decisions &d, Recompute most) {
      if (d.pp > 1 && model.kinds.empty() && d.mayRecomputeMore() && d.recomputeMost == most)
        cutLeaner(model, d);
    });
  }

  void costLeaner(const ModelCost &model, const Decisions &d) {
    EstimateRequest less = request;
    less.memoryLimit *= result.leastMemory ? result.leastMemory->step.memoryNeed
                                           : std::numeric_limits<double>::infinity();
    ++work;
    if (!mayFit(model, d, less))
      return;
    work += d.pp * d.virtualStages;
    noteLeanest({d, estimateStep(model, d, request), ++result.costed});
  }

  // Visits every detail of the meshes that differ in memory. `most` is the highest recomputation
  // that any detail requires of all its layers (Decisions::recompute).
  void visitLeanMeshes(
      llvm::function_ref<void(const ModelCost &, const Decisions &, Recompute)> visitor) {
    std::set<Decisions> seen;
    for (Decisions mesh : meshes) {
      Decisions lean = keyOf(KeptResult::LeanMesh, mesh);
      lean.numMicroBatches = std::min<int64_t>(mesh.numMicroBatches, 2); // one needs no sums
      if (!seen.insert(lean).second)
        continue;
      if (isSpent(/*isForLeanest=*/true))
        return;
      std::vector<Decisions> details = enumerateDetails(mesh, limits, pins);
      Recompute most = Recompute::None;
      for (const Decisions &d : details)
        most = std::max(most, d.recompute);
      for (int point : costs.placementsOf(mesh)) {
        mesh.placement = point;
        const ModelCost &model = costs.costOf(mesh);
        for (Decisions d : details) {
          d.placement = point;
          visitor(model, d, most);
        }
      }
    }
  }

  void cutLeaner(const ModelCost &model, const Decisions &d) {
    EstimateRequest less = request;
    while (!isSpent(/*isForLeanest=*/true)) {
      less.memoryLimit =
          result.leastMemory->step.memoryNeed * request.memoryLimit * (1 - kFinerNeed);
      if (!mayFit(model, d, less) ||
          !mayFitWithin(model, d, less, std::numeric_limits<double>::infinity()))
        return;
      StepEstimate step = estimateStep(model, d, less);
      work += d.pp * d.virtualStages;
      ++result.costed;
      if (!step.fits)
        return;
      step.fits = false;
      step.memoryNeed *= less.memoryLimit / request.memoryLimit;
      result.leastMemory = Candidate{d, std::move(step), result.costed};
    }
  }

  // Ranks a candidate, and the same decisions under less memory if these differ. The pipeline
  // schedule is simulated unless the bound rules the candidate out, since the closed form may lie
  // above or below the simulated time.
  void consider(Candidate candidate) {
    if (std::optional<Candidate> leaner = leanerOf(candidate))
      rank(std::move(*leaner));
    rank(std::move(candidate));
  }

  void rank(Candidate candidate) {
    if (mostComplex)
      return rankTie(std::move(candidate));
    if (!options.prune || candidate.step.leastSeconds() < incumbent) {
      work += tasksOf(candidate.decisions);
      refineBySchedule(candidate.step, candidate.decisions);
      incumbent = std::min(incumbent, candidate.score());
      fastest = std::min(fastest, candidate.step.stepSeconds);
    }
    result.ranked.push_back(std::move(candidate));
    if (result.ranked.size() >= 4 * options.keep)
      shrink();
  }

  // Returns the same decisions under the smaller limit of leanerShare, if layers can recompute or
  // offload more for it.
  std::optional<Candidate> leanerOf(const Candidate &candidate) {
    const Decisions &d = candidate.decisions;
    // Cuts over heterogeneous devices are known for one limit alone.
    bool isAlike = request.topology->isUniform();
    if (options.leanerShare == 0 || candidate.fitProbability == 1 || !d.mayKeepLess() || !isAlike ||
        (options.prune && candidate.step.leastSeconds() >= incumbent))
      return std::nullopt;
    EstimateRequest less = request;
    less.memoryLimit *= options.leanerShare;
    less.usableShare *= options.leanerShare;
    work += d.pp * d.virtualStages;
    Candidate leaner{d, estimateStep(costs.costOf(d), d, less), ++result.costed};
    if (!leaner.step.fits)
      return std::nullopt;
    restoreLimits(leaner.step);
    leaner.fitProbability = options.fitProbability(leaner.step);
    if (leaner.step.peakBytes >= candidate.step.peakBytes)
      return std::nullopt;
    return leaner;
  }

  // Converts the memory figures of a step from the smaller limit to the real one.
  void restoreLimits(StepEstimate &step) const {
    step.memoryNeed *= options.leanerShare;
    for (StageEstimate &stage : step.stages)
      stage.memoryLimit /= options.leanerShare;
    if (!step.otherCut)
      return;
    StepEstimate other = *step.otherCut;
    restoreLimits(other);
    step.otherCut = std::make_shared<StepEstimate>(std::move(other));
  }

  // Returns the number of tasks that are simulated one by one: later micro-batches repeat the
  // period of the ones before.
  static int64_t tasksOf(const Decisions &d) {
    int64_t chunks = d.pp * d.virtualStages;
    return 3 * chunks * std::min(d.numMicroBatches, 4 * chunks);
  }

  // Sorts by score. Of two equal scores a simulated one comes first, as the other is only a lower
  // bound.
  static void sortByScore(llvm::MutableArrayRef<Candidate> candidates) {
    llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
      return std::tuple(a.score(), !a.step.isRefined, a.number) <
             std::tuple(b.score(), !b.step.isRefined, b.number);
    });
  }

  void shrink() {
    sortByScore(result.ranked);
    if (result.ranked.size() > options.keep)
      result.ranked.resize(options.keep);
  }

  void finish() {
    shrink();
    size_t refined = std::min(options.refined, result.ranked.size());
    for (Candidate &candidate : llvm::MutableArrayRef<Candidate>(result.ranked).take_front(refined))
      if (!candidate.step.isRefined)
        refineBySchedule(candidate.step, candidate.decisions);
    sortByScore(result.ranked);
    for (const Candidate &candidate : result.ranked)
      keepPlacements(candidate.decisions);
    for (const Candidate &candidate : result.ranked)
      if (candidate.step.isRefined)
        result.lowerBound = std::min(result.lowerBound, candidate.step.stepSeconds);
  }

  // Keeps the placements of the candidate for the users of the result.
  void keepPlacements(const Decisions &d) {
    TensorSplit key = TensorSplit::of(d);
    if (result.placements.count(key))
      return;
    for (const PlacementPoint *point : costs.frontierOf(d))
      result.placements[key].push_back(point->placements);
  }

  const std::vector<Decisions> &meshes;
  const SpaceLimits &limits;
  const Pins &pins;
  const EstimateRequest &request;
  const SearchOptions &options;
  std::chrono::steady_clock::time_point start;
  int64_t work = 0; // so far, in the unit of SearchOptions::work
  MeshCosts costs;
  std::set<Decisions> templates; // costed already
  SharedEstimates boundedOne;    // of the mesh that is bounded
  ContextKinds contextKinds;     // of the meshes with the same axes
  EstimateRequest bounding;      // the request of bounds
  std::vector<OpenGroups> openGroups;
  // Bounds of steps in which ZeRO sends nothing, for the details of a mesh and placement.
  // `groupFloors` are `floors` without groups, for the details of the first placement.
  std::map<Decisions, double> boundsWithoutGathers;
  std::vector<double> groupFloors;
  EquivalentSchedules equivalent; // of the mesh that is costed, under one point
  double incumbent;               // Score of the best candidate so far, or the score to beat.
  // Set once ties are searched for: the points of the simplest so far, and all candidates of
  // `ranked`.
  std::optional<int> mostComplex;
  std::set<Decisions> known;
  double fastest = std::numeric_limits<double>::infinity(); // Seconds of the fastest so far.
  // Bound of the meshes that were not visited.
  double leastLeft = std::numeric_limits<double>::infinity();
  SearchResult result;
};

} // namespace

const SearchedPlacements &SearchResult::placementsOf(const Decisions &decisions) const {
  return placements.at(TensorSplit::of(decisions)).at(static_cast<size_t>(decisions.placement));
}

SearchResult searchJointly(CellStore &cells, const std::vector<Decisions> &meshes,
                           const SpaceLimits &limits, const Pins &pins,
                           const EstimateRequest &request, const SearchOptions &options) {
  return Searcher(cells, meshes, limits, pins, request, options).run();
}

} // namespace dtc
