// Searches the details of meshes.
#include "compiler/search/planner/DetailSearch.h"

#include "compiler/price/estimate/StepBounds.h"
#include "compiler/search/planner/DetailSpace.h"
#include "compiler/search/planner/EquivalentSchedules.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>

namespace dtc {

// Costs the details of one mesh under one placement.
class DetailSearch::Point {
public:
  Point(const DetailSearch &search, const ModelCost &model)
      : inputs(search.inputs), work(search.work), coster(search.coster),
        templates(search.templates), contest(search.contest), model(model),
        notes(inputs, model, contest, search.groups) {}

  // Costs all details that may win. With `floors`, those of the first placement, only details may
  // win whose floor times `ratio` may. Otherwise fills `floors`.
  void run(const Decisions &mesh, llvm::ArrayRef<Decisions> details, double ratio,
           std::vector<DetailFloor> &floors) {
    bool isFirst = floors.empty();
    if (isFirst)
      floors.resize(details.size());
    std::vector<Candidate> candidates;
    std::optional<OnDevice> before; // the detail that was costed last
    const Decisions *last = nullptr;
    double ofSchedule = 0; // Seconds that no detail of the last one's pipeline schedule beats.
    for (auto [d, floor] : llvm::zip_equal(details, floors)) {
      if (!last || last->schedule != d.schedule || last->virtualStages != d.virtualStages)
        ofSchedule = leastOfSchedule(mesh, d);
      last = &d;
      if (contest.isBeaten(ofSchedule)) {
        if (isFirst)
          floor = {ofSchedule, ofSchedule};
        continue;
      }
      if (!isFirst && contest.isBeaten(ratio * floor.step)) {
        notes.note(d, ratio * floor.groups);
        continue;
      }
      Visited visited = visit(d, before);
      if (isFirst)
        floor = visited.floor;
      if (!visited.costed)
        continue;
      before = OnDevice{d, visited.costed->leastWithHost};
      if (visited.costed->counts)
        candidates.push_back(std::move(visited.costed->candidate));
    }
    // The likely best come first, as they save others the simulation of their pipeline schedule.
    sortByScore(candidates);
    for (Candidate &candidate : candidates)
      coster.enter(std::move(candidate), contest);
  }

private:
  // Decisions that were costed, and the seconds that they take at least with the optimizer on the
  // host.
  struct OnDevice {
    Decisions decisions;
    double leastWithHost;
  };
  // The facts about a detail; its cost if it was costed.
  struct Visited {
    DetailFloor floor;
    std::optional<Costed> costed;
  };

  // Costs a detail if it may win. `before` may be the same decisions with the optimizer on the
  // device.
  Visited visit(const Decisions &d, const std::optional<OnDevice> &before) {
    if (before && !mayHostHelp(d, *before)) {
      notes.noteUnfit(d);
      return {{before->leastWithHost, 0}, std::nullopt};
    }
    bool isOfEquivalent = false;
    double bound = leastOf(d, isOfEquivalent);
    DetailFloor floor;
    // Copies to the host do not follow from the times of passes.
    floor.step = d.offloadsAllLayers() ? 0 : bound;
    // For ZeRO-1 the bound does not depend on groups, unless it came from a step of an equivalent
    // schedule.
    floor.groups = d.zero == 1 && !isOfEquivalent ? floor.step : 0;
    if (!isOpen(d, bound)) {
      noteClosed(d);
      return {floor, std::nullopt};
    }
    if (!coster.mayFitFaster(model, d, contest)) {
      notes.noteUnfit(d);
      return {floor, std::nullopt};
    }
    Costed costed = coster.cost(model, d);
    if (inputs.options.prune && d.pp > 1 && model.kinds.empty())
      equivalent.note(d, costed.candidate.step);
    notes.note(d, costed.leastOfGroups, costed.sameCut);
    floor.step = std::max(floor.step, costed.leastWithoutRecomputation);
    floor.groups = std::max(floor.groups, costed.leastOfGroupsWithoutRecomputation);
    return {floor, std::move(costed)};
  }

  // Returns a bound under any ZeRO stage and recomputation. Returns 0 if stages may share the
  // vocabulary, as they have less of it then.
  double leastOfSchedule(Decisions mesh, const Decisions &detail) {
    if (model.vocabulary)
      return 0;
    work.add(1);
    mesh.schedule = detail.schedule;
    mesh.virtualStages = detail.virtualStages;
    return lowerBoundSeconds(model, mesh, inputs.request);
  }

  // Returns a bound of a detail. A bound known from an equivalent schedule is no lower than the
  // detail's own, which holds for both.
  double leastOf(const Decisions &d, bool &isOfEquivalent) {
    double known = inputs.options.prune ? equivalent.leastOf(d) : 0;
    isOfEquivalent = known > 0;
    if (isOfEquivalent)
      return known;
    double bound = lowerBoundSeconds(model, d, inputs.request);
    work.add(1);
    equivalent.noteBound(d, bound);
    return bound;
  }

  bool isOpen(const Decisions &d, double bound) const {
    return !inputs.options.prune ||
           (!contest.isBeaten(bound) && coster.mayFit(model, d) && !templates.count(d));
  }

  // Returns false if `before`, the same decisions with the optimizer on the device, rules `d` out.
  // Such decisions are costed directly before.
  bool mayHostHelp(const Decisions &d, const OnDevice &before) const {
    Decisions without = d;
    without.offloadOptimizer = false;
    bool isKnown = inputs.options.prune && d.offloadOptimizer && before.decisions == without;
    return !isKnown || !contest.isBeaten(before.leastWithHost);
  }

  // Notes ZeRO in groups for a detail that is not costed over all of dp. Nothing is noted for a
  // template, which has been noted, or for a detail that can't fit.
  void noteClosed(const Decisions &d) {
    if (notes.mayHave(d) && coster.mayFit(model, d) && !templates.count(d))
      notes.noteSlow(d);
  }

  const SearchInputs &inputs;
  SearchWork &work;
  const CandidateCoster &coster;
  const std::set<Decisions> &templates;
  Contest &contest;
  const ModelCost &model;
  GroupNotes notes;
  EquivalentSchedules equivalent;
};

void DetailSearch::run(Decisions mesh) {
  std::vector<DetailFloor> floors;
  const ModelCost *first = nullptr;
  for (int point : costs.placementsOf(mesh)) {
    mesh.placement = point;
    const ModelCost &model = costs.costOf(mesh);
    work.add(1);
    if (contest.isBeaten(leastOfSchedules(model, mesh, inputs.limits, inputs.pins, inputs.request)))
      continue; // A step with ZeRO in groups is not below this bound either.
    std::vector<Decisions> details = enumerateDetails(mesh, inputs.limits, inputs.pins);
    if (contest.isSelective()) { // each point has details of its own then
      llvm::erase_if(details, [&](const Decisions &d) { return contest.leavesOut(d); });
      floors.clear();
    }
    Point(*this, model).run(mesh, details, first ? leastRatio(model, *first) : 1, floors);
    first = first ? first : &model;
  }
}

} // namespace dtc
