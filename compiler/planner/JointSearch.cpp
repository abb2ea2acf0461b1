// Finds the fastest decisions that fit.
#include "compiler/planner/JointSearch.h"

#include "compiler/estimate/SharedEstimates.h"
#include "compiler/planner/ContextKinds.h"
#include "compiler/planner/DescribePlan.h"
#include "compiler/planner/KinSchedules.h"
#include "compiler/planner/MemoryChoices.h"
#include "compiler/planner/Simplicity.h"
#include "compiler/planner/ZeroGroups.h"
#include "compiler/workload/ApplyStack.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace dtc {

namespace {

struct BoundedMesh {
  size_t index;
  double bound; // under the best of its placements
};

// For the plan that needs least memory, after a search that found none that fits.
constexpr int64_t kWorkOfLeanest = kSearchWork / 6;
constexpr double kSecondsOfLeanest = kSearchSeconds / 6;
// How much less it is to need for another look.
constexpr double kFinerNeed = 2e-3;

// How much faster at most a part of the model is under other placements: the least ratio of the
// seconds of a block, forward or backward, collectives included.
double leastRatio(const ModelCost &point, const ModelCost &base) {
  double least = 1;
  auto compare = [&](const BlockCost &a, const BlockCost &b) {
    if (double forward = b.forward + b.forwardCollectives(); forward > 0)
      least = std::min(least, (a.forward + a.forwardCollectives()) / forward);
    if (double backward = b.backward() + b.backwardCollectives(); backward > 0)
      least = std::min(least, (a.backward() + a.backwardCollectives()) / backward);
  };
  compare(point.embedding, base.embedding);
  compare(point.head, base.head);
  if (point.vocabulary) {
    compare(point.vocabulary->embedding, base.vocabulary->embedding);
    compare(point.vocabulary->head, base.vocabulary->head);
    compare(point.vocabulary->share, base.vocabulary->share);
    if (base.vocabulary->collectives > 0)
      least = std::min(least, point.vocabulary->collectives / base.vocabulary->collectives);
  }
  for (auto [a, b] : llvm::zip(point.blocks, base.blocks))
    compare(a, b);
  return least;
}

// What is known of ZeRO-1 in groups in whose copies of states all stages still fit in the cut of the step over all of
// dp: no step takes less.
struct SameCut {
  double least = 0;
  double mostTimesMore = -1; // of its states, on every stage; below 0: nothing is known
};

class Searcher {
public:
  Searcher(CellStore &cells, const std::vector<Decisions> &meshes, const SpaceLimits &limits,
           const Pins &pins, const EstimateRequest &request, const SearchOptions &options)
      : meshes(meshes), limits(limits), pins(pins), request(request), options(options),
        start(std::chrono::steady_clock::now()),
        frontier(cells, request,
                 {limits.searchesPlacements, pins.searchedPlacements.value_or(false),
                  pins.tp.has_value() && !pins.searchedPlacements.value_or(false)}),
        knownCosts(*request.topology), bounding(request), incumbent(options.fasterThan) {
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
  // Groups depend on the sizes that lie inside: all of them are in the key.
  using CostKey = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool, bool, int,
                             int, TensorOfParts, ContextKind, int64_t, AxisOrder>;

  void visit(const std::vector<BoundedMesh> &order) {
    for (const BoundedMesh &mesh : order) {
      if (options.prune && (mesh.bound >= incumbent || isSpent())) {
        leastLeft = std::min(leastLeft, mesh.bound);
        break;
      }
      costMesh(meshes[mesh.index]);
    }
  }

  // Costs what may tie with the best and has no more mechanisms than the simplest that does. What
  // is in `ranked` already is timed by its schedule, where that may make it one of them.
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

  // Looks for ties: how fast the others are is known.
  void rankTie(Candidate candidate) {
    if (candidate.step.leastSeconds() > incumbent)
      return;
    refine(candidate);
    if (candidate.score() > incumbent)
      return;
    mostComplex = std::min(*mostComplex, complexityOf(decisionsOf(candidate)));
    result.ranked.push_back(std::move(candidate));
  }

  // The points that the pins allow: those searched for, or Megatron's alone, or all.
  llvm::SmallVector<int, 4> pointsOf(const Decisions &d) {
    llvm::SmallVector<int, 4> numbers;
    bool mustBeSearched = pins.searchedPlacements.value_or(false);
    int count = static_cast<int>(frontier.of(d.tp, d.sequenceParallel, d.foldedExperts).size());
    if (d.hasUnevenTensor()) // Megatron's alone
      count = std::min(count, static_cast<int>(canSplitParts(d)));
    for (int number = mustBeSearched ? 1 : 0; number < count; ++number)
      numbers.push_back(number);
    return numbers;
  }

  // Whether the model can be partitioned over the ranks of each part.
  bool canSplitParts(const Decisions &d) {
    for (size_t part = 0; part < limits.groups.size(); ++part)
      if (Decisions own = d.onPart(part);
          frontier.of(own.tp, own.sequenceParallel, own.foldedExperts).empty())
        return false;
    return true;
  }

  // Returns whether the work or the seconds of the search are used up; `isForLeanest`: also those that are added for
  // the plan that needs least memory.
  bool isSpent(bool isForLeanest = false) const {
    int64_t mayWork = options.work + (isForLeanest ? kWorkOfLeanest : 0);
    double maySeconds = options.seconds + (isForLeanest ? kSecondsOfLeanest : 0);
    return work > mayWork ||
           std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >
               maySeconds;
  }

  // The cells as the software computes them.
  const ModelCells &appliedOf(const ModelCells &model) {
    auto [it, isNew] = applied.try_emplace(&model);
    if (isNew)
      it->second = applyStack(model, *request.software, request.precision.compute);
    return it->second;
  }

  static CostKey keyOf(const Decisions &d) {
    return {d.microBatch,
            d.ep,
            d.dp,
            d.pp,
            d.cp,
            d.tp,
            d.sequenceParallel,
            d.foldedExperts,
            d.placement,
            d.partOrder,
            d.tensorOfParts,
            d.contextKind,
            d.contextInner,
            d.order};
  }

  const PlacementPoint &pointOf(const Decisions &d) {
    return *frontier.of(d.tp, d.sequenceParallel,
                        d.foldedExperts)[static_cast<size_t>(d.placement)];
  }

  ModelCost costAnew(const Decisions &d) {
    const PlacementPoint &point = pointOf(d);
    auto cellsOf = [this](const Decisions &own) -> const ModelCells & {
      return appliedOf(pointOf(own).cells);
    };
    ModelCost cost = costModel(appliedOf(point.cells), d, *request.topology, request.precision,
                               &knownCosts, cellsOf);
    cost.placements = &point.placements;
    return cost;
  }

  const ModelCost *costOf(const Decisions &d) {
    auto [it, isNew] = costs.try_emplace(keyOf(d));
    if (isNew)
      it->second = costAnew(d);
    return &it->second;
  }

  void costTemplates() {
    for (Decisions d : expertTemplates(limits, pins, options.devicesPerNode)) {
      llvm::SmallVector<int, 4> points = pointsOf(d);
      if (points.empty())
        continue;
      d.placement = points.front();
      if (!mayFitAtAll(*costOf(d), d) || !templates.insert(d).second)
        continue;
      std::optional<Candidate> candidate = estimate(*costOf(d), d);
      noteGroups(*costOf(d), d, leastOfGroups, sameCut);
      if (candidate)
        consider(std::move(*candidate));
    }
  }

  std::vector<BoundedMesh> boundMeshes() {
    std::vector<BoundedMesh> order;
    for (size_t index = 0; index < meshes.size(); ++index) {
      Decisions mesh = meshes[index];
      double bound = std::numeric_limits<double>::infinity();
      llvm::SmallVector<int, 4> points = pointsOf(mesh);
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

  // Most meshes are looked at once, and never again: what is not below the incumbent is not kept, and not even
  // costed where its work alone is not. Infinity where another kind of context parallelism is never worse.
  double leastOfPoint(const Decisions &mesh) {
    if (!options.prune)
      return leastOf(*costOf(mesh), mesh, request);
    boundedOne = {};
    double floor = floorOf(mesh);
    if (floor >= incumbent)
      return floor;
    auto known = costs.find(keyOf(mesh));
    std::optional<ModelCost> cost;
    if (known == costs.end())
      cost = costAnew(mesh);
    if (mesh.cp > 1 && contextKinds.isRuledOut(mesh, cost ? *cost : known->second))
      return std::numeric_limits<double>::infinity();
    double bound = leastOf(cost ? *cost : known->second, mesh, bounding);
    if (cost && bound < incumbent)
      costs.emplace(keyOf(mesh), std::move(*cost));
    return bound;
  }

  // Of all orders of the mesh's axes; 0 where floorSeconds says nothing.
  double floorOf(const Decisions &mesh) {
    const ModelCells &model = appliedOf(pointOf(mesh).cells);
    if (mesh.pp > 1 && (model.dividesVocabulary || !request.topology->isUniform()))
      return 0;
    return floorSeconds(workOfModel(model, mesh, *request.topology, request.precision, knownCosts),
                        mesh, bounding);
  }

  // The bound of a mesh is that of its best schedule: with several chunks a stage, those before it are waited
  // for less, and a V has the head on the first stage.
  double leastOf(const ModelCost &model, Decisions mesh, const EstimateRequest &request) const {
    if (mesh.pp == 1) // all schedules are the same
      return lowerBoundSeconds(model, mesh, request);
    double least = std::numeric_limits<double>::infinity();
    bool maySplit = 2 * mesh.pp <= mostChunks(limits);
    // Where chunks are more than layers, less is before each stage.
    for (int64_t v = limits.layers / mesh.pp; v <= mostChunks(limits) / mesh.pp; ++v) {
      if (v * mesh.pp <= limits.layers || v < 2 || !pins.allows(ScheduleKind::Interleaved) ||
          pins.virtualStages.value_or(v) != v)
        continue;
      mesh.schedule = ScheduleKind::Interleaved;
      mesh.virtualStages = v;
      least = std::min(least, lowerBoundSeconds(model, mesh, request));
    }
    for (auto [kind, chunks] : {std::pair(ScheduleKind::ZeroBubbleV, 2),
                                {ScheduleKind::VHalf, 2},
                                {ScheduleKind::VMin, 2},
                                {ScheduleKind::ZeroBubbleH1, 1},
                                {ScheduleKind::ZeroBubble2P, 1},
                                {ScheduleKind::Interleaved, 2},
                                {ScheduleKind::Interleaved, 1},
                                {ScheduleKind::OneForwardOneBackward, 1},
                                {ScheduleKind::GPipe, 1}}) {
      bool isThere = chunks == 1 || (maySplit && pins.virtualStages.value_or(chunks) >= chunks);
      if (!isThere || !pins.allows(kind))
        continue;
      mesh.schedule = kind;
      mesh.virtualStages = chunks;
      least = std::min(least, lowerBoundSeconds(model, mesh, request));
      // On alike devices none has fewer terms.
      if (isV(kind) && model.kinds.empty())
        break;
    }
    for (auto [kind, chunks] :
         {std::pair(ScheduleKind::OneForwardOneBackward, 1), {ScheduleKind::VHalf, 2}}) {
      mesh.schedule = kind;
      mesh.virtualStages = chunks;
      if (pins.allows(kind) && (chunks == 1 || maySplit))
        for (int64_t algorithm : vocabularyChoices(mesh, limits, pins)) {
          mesh.vocabOverPp = algorithm;
          least = std::min(least, lowerBoundSeconds(model, mesh, request));
        }
    }
    return least;
  }

  // The first point tells the others what they have to beat.
  void costMesh(Decisions mesh) {
    std::vector<double> floors;
    const ModelCost *first = nullptr;
    for (int point : pointsOf(mesh)) {
      mesh.placement = point;
      const ModelCost *model = costOf(mesh);
      ++work;
      if (options.prune && leastOf(*model, mesh, request) >= incumbent)
        continue; // nor is a step in groups of ZeRO below that
      double ratio = first ? leastRatio(*model, *first) : 1;
      costDetails(mesh, *model, ratio, floors);
      first = first ? first : model;
    }
  }

  // `floors`: of each of the mesh's details the least seconds under the first point that any
  // recomputation leaves it, filled by that; another point that makes no part faster than by
  // `ratio` is not below ratio x floor.
  void costDetails(const Decisions &mesh, const ModelCost &model, double ratio,
                   std::vector<double> &floors) {
    if (mostComplex) // other points have other details
      floors.clear();
    bool isFirst = floors.empty();
    if (isFirst)
      groupFloors.clear();
    boundsWithoutGathers.clear();
    std::vector<Candidate> candidates;
    std::vector<Decisions> details = enumerateDetails(mesh, limits, pins);
    leaveOutComplex(details);
    kin.clear();
    const Decisions *last = nullptr;
    double ofSchedule = 0; // seconds that no detail of the last one's schedule beats
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
      if (!mayHostHelp(d)) {
        if (isFirst)
          floors.back() = leastWithHost;
        noteUnfit(model, d);
        continue;
      }
      bool isOfKin = false;
      double bound = leastOfDetail(model, d, isOfKin);
      if (isFirst) {
        // What is copied to the host does not follow from what takes how long.
        floors.back() = d.layersOnHost == LayersOnHost::All ? 0 : bound;
        // Of ZeRO-1 it does not depend on groups; what a step of kin says does.
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
      std::optional<Candidate> candidate = estimate(model, d);
      noteGroups(model, d, leastOfGroups, sameCut);
      if (isFirst) {
        floors.back() = std::max(floors.back(), leastWithoutRecomputation);
        groupFloors.back() = std::max(groupFloors.back(), leastOfGroupsWithoutRecomputation);
      }
      if (candidate)
        candidates.push_back(std::move(*candidate));
    }
    // The likely best first: it spares others their schedule.
    sortByScore(candidates);
    for (Candidate &candidate : candidates)
      consider(std::move(candidate));
  }

  // Whatever ZeRO and recomputation are; 0 where stages may share out the vocabulary, which they then have less of.
  double leastOfSchedule(const ModelCost &model, Decisions mesh, const Decisions &detail) {
    if (model.vocabulary)
      return 0;
    ++work;
    mesh.schedule = detail.schedule;
    mesh.virtualStages = detail.virtualStages;
    return lowerBoundSeconds(model, mesh, request);
  }

  // What is known of kin is not below the bound, which is theirs, too.
  double leastOfDetail(const ModelCost &model, const Decisions &d, bool &isOfKin) {
    double known = options.prune ? kin.leastOf(d) : 0;
    isOfKin = known > 0;
    if (isOfKin)
      return known;
    double bound = lowerBoundSeconds(model, d, request);
    ++work;
    kin.noteBound(d, bound);
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

  // Whether it may still win with the recomputation that it needs to fit.
  bool mayFitFaster(const ModelCost &model, const Decisions &d) const {
    return !options.prune || options.ignoreMemory || mayFitWithin(model, d, request, incumbent);
  }

  // In groups it needs more memory, the update is no shorter, and only what ZeRO-2 and 3 move takes less.
  void noteUnfit(const ModelCost &model, const Decisions &d) {
    if (d.zero > 1)
      noteGroups(model, d, 0);
  }

  // Nothing where the step is no ZeRO-1, does not fit, or memory had a say in its cut.
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

  // What may still win with ZeRO in groups: no step of it takes less than that.
  struct OpenGroups {
    double least;
    Decisions overAll;
    SameCut same = {};
  };

  // By what was found of the same decisions over all of dp, if they were looked at, and by the bound of a step in
  // which ZeRO moves nothing.
  void noteGroups(const ModelCost &model, const Decisions &d, double least, SameCut same = {}) {
    if (mostComplex || !mayHaveGroups(d, limits, pins))
      return;
    if (options.prune && least < incumbent) {
      Decisions without = d;
      without.zero = 1; // whose bound has no exchange
      auto [bound, isNew] = boundsWithoutGathers.try_emplace(without, 0.0);
      if (isNew)
        bound->second = lowerBoundSeconds(model, without, request);
      least = std::max(least, bound->second);
    }
    if (least < incumbent || !options.prune)
      openGroups.push_back({least, d, same});
  }

  // What is not looked at over all of dp: a template, of which that is noted; what can't fit; or what is too slow,
  // which of ZeRO-1 also goes for groups where its own bound says so, and not a step of its kin.
  void noteClosed(const ModelCost &model, const Decisions &d) {
    bool isDone = !mayHaveGroups(d, limits, pins) || !mayFitAtAll(model, d) || templates.count(d);
    if (!isDone)
      noteGroups(model, d, d.zero == 1 ? lowerBoundSeconds(model, d, request) : 0);
  }

  // When all meshes are done little is left open.
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
      const ModelCost &model = *costOf(open.overAll);
      for (const Decisions &d : enumerateGroups(open.overAll, limits, pins)) {
        ++work;
        double timesMore = static_cast<double>(d.dp) / static_cast<double>(d.zeroGroup) - 1;
        if (options.prune && timesMore <= open.same.mostTimesMore && open.same.least >= incumbent)
          continue;
        if (!isOpen(model, d, lowerBoundSeconds(model, d, request)) || !mayFitFaster(model, d))
          continue;
        if (std::optional<Candidate> candidate = estimate(model, d))
          consider(std::move(*candidate));
      }
    }
  }

  // What the same decisions with the optimizer on the device say about it: they come before.
  bool mayHostHelp(const Decisions &d) const {
    Decisions without = d;
    without.offloadOptimizer = false;
    bool isKnown = options.prune && d.offloadOptimizer && lastCosted == without;
    return !isKnown || leastWithHost < incumbent;
  }

  // Nothing where it does not fit.
  std::optional<Candidate> estimate(const ModelCost &model, const Decisions &d) {
    ++result.costed;
    work += d.pp * d.virtualStages;
    Candidate candidate{d, estimateStep(model, d, request), result.costed};
    lastCosted = d;
    if (options.prune && d.pp > 1 && model.kinds.empty())
      kin.note(d, candidate.step);
    leastOfGroups =
        model.kinds.empty() && !request.programs ? leastSecondsInGroups(candidate.step, d) : 0;
    sameCut = sameCutOf(model, candidate);
    bool isKnown = candidate.step.fits && leastOfGroups > 0;
    double forMemory = candidate.step.recomputeSeconds + candidate.step.exposedHostSeconds;
    leastOfGroupsWithoutRecomputation = isKnown ? leastOfGroups - forMemory : 0;
    // Another cut may need less of it.
    leastWithoutRecomputation = candidate.step.isCutByMemory || candidate.step.otherCut
                                    ? 0
                                    : candidate.step.leastSeconds() - forMemory;
    if (options.fitProbability)
      candidate.fitProbability = options.fitProbability(candidate.step);
    // Memory alone makes no step faster; it may make one likelier to fit.
    leastWithHost = candidate.step.hostGainsMemoryAlone && candidate.fitProbability == 1
                        ? std::numeric_limits<double>::infinity()
                        : candidate.step.leastWithHostSeconds;
    noteLeanest(candidate);
    if (!candidate.step.fits && !options.ignoreMemory)
      return std::nullopt;
    return candidate;
  }

  void noteLeanest(const Candidate &candidate) {
    if (!result.leanest || candidate.step.memoryNeed < result.leanest->step.memoryNeed)
      result.leanest = candidate;
  }

  // Of each way to spread the model over the devices what keeps least: the smallest micro-batch, and as
  // much recomputation as there is. The order of axes makes no difference to memory, and of kinds of context parallelism
  // the first that there is needs least.
  void findLeanest() {
    visitLeanMeshes([this](const ModelCost &model, Decisions d, Recompute most) {
      if (d.recompute == most) // ZeRO over all of dp needs least
        costLeaner(model, d);
      if (d.layersOnHost == LayersOnHost::Some) {
        d = withOnHost(d, LayersOnHost::All);
        if (isAllowed(d, limits))
          costLeaner(model, d);
      }
    });
    if (!result.leanest || request.programs || result.leanest->step.hostIsShort)
      return;
    // Stages that memory cuts may need less than those above, which seconds cut: where they can, all the way down.
    visitLeanMeshes([this](const ModelCost &model, const Decisions &d, Recompute most) {
      if (d.pp > 1 && model.kinds.empty() && d.mayRecomputeMore() && d.recomputeMost == most)
        cutLeaner(model, d);
    });
  }

  void costLeaner(const ModelCost &model, const Decisions &d) {
    EstimateRequest less = request;
    less.memoryLimit *=
        result.leanest ? result.leanest->step.memoryNeed : std::numeric_limits<double>::infinity();
    ++work;
    if (!mayFit(model, d, less))
      return;
    work += d.pp * d.virtualStages;
    noteLeanest({d, estimateStep(model, d, request), ++result.costed});
  }

  // Every detail of every mesh that memory tells apart, with the most that layers recompute at least.
  void visitLeanMeshes(
      llvm::function_ref<void(const ModelCost &, const Decisions &, Recompute)> visitor) {
    std::set<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, bool, bool, int, TensorOfParts,
                        bool>>
        seen;
    for (Decisions mesh : meshes) {
      // One micro-batch needs no sums over several.
      if (!seen.insert({mesh.dp, mesh.tp, mesh.pp, mesh.cp, mesh.ep, mesh.foldedExperts,
                        mesh.sequenceParallel, mesh.partOrder, mesh.tensorOfParts,
                        mesh.numMicroBatches == 1})
               .second)
        continue;
      if (isSpent(/*isForLeanest=*/true))
        return;
      std::vector<Decisions> details = enumerateDetails(mesh, limits, pins);
      Recompute most = Recompute::None;
      for (const Decisions &d : details)
        most = std::max(most, d.recompute);
      for (int point : pointsOf(mesh)) {
        mesh.placement = point;
        const ModelCost &model = *costOf(mesh);
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
      less.memoryLimit = result.leanest->step.memoryNeed * request.memoryLimit * (1 - kFinerNeed);
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
      result.leanest = Candidate{d, std::move(step), result.costed};
    }
  }

  // Whatever its bound does not rule out is timed by its schedule: the closed form is above that of
  // some, and below that of others.
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

  // Returns the same decisions under less memory, where layers keep less for the sake of it.
  std::optional<Candidate> leanerOf(const Candidate &candidate) {
    const Decisions &d = candidate.decisions;
    // Cuts over unlike devices are known by one limit alone.
    bool isAlike = request.topology->isUniform();
    if (options.leanerShare == 0 || candidate.fitProbability == 1 || !d.mayKeepLess() || !isAlike ||
        (options.prune && candidate.step.leastSeconds() >= incumbent))
      return std::nullopt;
    EstimateRequest less = request;
    less.memoryLimit *= options.leanerShare;
    less.usableShare *= options.leanerShare;
    work += d.pp * d.virtualStages;
    Candidate leaner{d, estimateStep(*costOf(d), d, less), ++result.costed};
    if (!leaner.step.fits)
      return std::nullopt;
    restoreLimits(leaner.step);
    leaner.fitProbability = options.fitProbability(leaner.step);
    if (leaner.step.peakBytes >= candidate.step.peakBytes)
      return std::nullopt;
    return leaner;
  }

  // Tells what a step says of its limit, which was a leaner one.
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

  // Tasks that are scheduled one by one: later micro-batches follow the period of the ones before.
  static int64_t tasksOf(const Decisions &d) {
    int64_t chunks = d.pp * d.virtualStages;
    return 3 * chunks * std::min(d.numMicroBatches, 4 * chunks);
  }

  // What is not timed by its schedule is not below its bound, and so not before the best.
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

  // What the candidate's placements are, for whoever gets the result.
  void keepPlacements(const Decisions &d) {
    TensorSplit key{d.tp, d.sequenceParallel, d.foldedExperts};
    if (result.placements.count(key))
      return;
    for (const PlacementPoint *point : frontier.of(d.tp, d.sequenceParallel, d.foldedExperts))
      result.placements[key].push_back(point->placements);
  }

  const std::vector<Decisions> &meshes;
  const SpaceLimits &limits;
  const Pins &pins;
  const EstimateRequest &request;
  const SearchOptions &options;
  std::chrono::steady_clock::time_point start;
  int64_t work = 0; // so far, as SearchOptions::work has it
  PlacementFrontier frontier;
  std::map<const ModelCells *, ModelCells> applied; // by those of `cells` and `frontier`
  KnownCosts knownCosts;                            // of `applied`
  std::map<CostKey, ModelCost> costs;
  std::set<Decisions> templates; // costed already
  SharedEstimates boundedOne;    // of the mesh that is bounded
  ContextKinds contextKinds;     // and of those with the same axes
  EstimateRequest bounding;      // with these
  std::vector<OpenGroups> openGroups;
  // Of the details of a mesh and placement: bounds of steps in which ZeRO moves nothing; and of the first placement's
  // what `floors` is without groups.
  std::map<Decisions, double> boundsWithoutGathers;
  std::vector<double> groupFloors;
  std::optional<Decisions> lastCosted;
  KinSchedules kin;         // of the mesh that is costed, under one point
  double leastWithHost = 0; // seconds, of the same with the optimizer on the host
  double leastOfGroups = 0; // seconds, of the same with ZeRO in groups
  SameCut sameCut;          // of the same
  double leastOfGroupsWithoutRecomputation = 0;
  double leastWithoutRecomputation = 0; // seconds, of the same
  double incumbent; // score of the best candidate so far, or what it has to beat
  // Once ties are looked for: points of the simplest so far; and all that is in `ranked`.
  std::optional<int> mostComplex;
  std::set<Decisions> known;
  double fastest = std::numeric_limits<double>::infinity();   // seconds of any so far
  double leastLeft = std::numeric_limits<double>::infinity(); // bound of what was not looked at
  SearchResult result;
};

} // namespace

const SearchedPlacements &SearchResult::placementsOf(const Decisions &decisions) const {
  return placements.at({decisions.tp, decisions.sequenceParallel, decisions.foldedExperts})
      .at(static_cast<size_t>(decisions.placement));
}

SearchResult searchJointly(CellStore &cells, const std::vector<Decisions> &meshes,
                           const SpaceLimits &limits, const Pins &pins,
                           const EstimateRequest &request, const SearchOptions &options) {
  return Searcher(cells, meshes, limits, pins, request, options).run();
}

} // namespace dtc
