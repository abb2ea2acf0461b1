#include "compiler/search/planner/MeshCosts.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/price/estimate/StepBounds.h"
#include "compiler/price/workload/ApplyStack.h"
#include "compiler/search/planner/VocabularyChoices.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace dtc {

using D = Decisions;

MeshCosts::MeshCosts(CellStore &cells, const SpaceLimits &limits, const Pins &pins,
                     const EstimateRequest &request)
    : limits(limits), pins(pins), request(request),
      frontier(cells, request,
               {limits.searchesPlacements, (pins[&D::placement] == 1),
                pins[&D::tp].has_value() && !(pins[&D::placement] == 1)}),
      knownCosts(*request.topology) {}

const std::vector<const PlacementPoint *> &MeshCosts::frontierOf(const Decisions &d) {
  return frontier.of(d);
}

llvm::SmallVector<int, 4> MeshCosts::placementsOf(const Decisions &d) {
  llvm::SmallVector<int, 4> numbers;
  bool mustBeSearched = (pins[&D::placement] == 1);
  int count = static_cast<int>(frontierOf(d).size());
  if (d.hasUnevenTensor()) // uses Megatron's placements alone
    count = std::min(count, static_cast<int>(canSplitParts(d)));
  for (int number = mustBeSearched ? 1 : 0; number < count; ++number)
    numbers.push_back(number);
  return numbers;
}

// Returns true if the model can be partitioned over the ranks of each device group.
bool MeshCosts::canSplitParts(const Decisions &d) {
  for (size_t part = 0; part < limits.groups.size(); ++part)
    if (frontierOf(d.onPart(part)).empty())
      return false;
  return true;
}

const ModelCells &MeshCosts::appliedOf(const ModelCells &model) {
  auto [it, isNew] = applied.try_emplace(&model);
  if (isNew)
    it->second = applyStack(model, *request.software, request.precision.compute);
  return it->second;
}

const PlacementPoint &MeshCosts::pointOf(const Decisions &d) {
  return *frontierOf(d)[static_cast<size_t>(d.placement)];
}

ModelCost MeshCosts::costAnew(const Decisions &d) {
  const PlacementPoint &point = pointOf(d);
  auto cellsOf = [this](const Decisions &own) -> const ModelCells & {
    return appliedOf(pointOf(own).cells);
  };
  ModelCost cost = costModel(appliedOf(point.cells), d, *request.topology, request.precision,
                             &knownCosts, cellsOf);
  cost.placements = &point.placements;
  return cost;
}

const ModelCost &MeshCosts::costOf(const Decisions &d) {
  auto [it, isNew] = costs.try_emplace(keyOf(KeptResult::MeshCost, d));
  if (isNew)
    it->second = costAnew(d);
  return it->second;
}

const ModelCost *MeshCosts::find(const Decisions &d) const {
  auto found = costs.find(keyOf(KeptResult::MeshCost, d));
  return found == costs.end() ? nullptr : &found->second;
}

void MeshCosts::keep(const Decisions &d, ModelCost cost) {
  costs.emplace(keyOf(KeptResult::MeshCost, d), std::move(cost));
}

double MeshCosts::floorOf(const Decisions &mesh, const EstimateRequest &bounding) {
  const ModelCells &model = appliedOf(pointOf(mesh).cells);
  if (mesh.pp > 1 && (model.dividesVocabulary || !request.topology->isUniform()))
    return 0;
  return floorSeconds(workOfModel(model, mesh, *request.topology, request.precision, knownCosts),
                      mesh, bounding);
}

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

double leastOfSchedules(const ModelCost &model, Decisions mesh, const SpaceLimits &limits,
                        const Pins &pins, const EstimateRequest &request) {
  if (mesh.pp == 1) // all schedules are the same
    return lowerBoundSeconds(model, mesh, request);
  double least = std::numeric_limits<double>::infinity();
  bool maySplit = 2 * mesh.pp <= mostChunks(limits);
  // Stages have less before them if there are more chunks than layers.
  for (int64_t v = limits.layers / mesh.pp; v <= mostChunks(limits) / mesh.pp; ++v) {
    if (v * mesh.pp <= limits.layers || v < 2 || !pins.allows(ScheduleKind::Interleaved) ||
        pins[&D::virtualStages].value_or(v) != v)
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
    bool isThere = chunks == 1 || (maySplit && pins[&D::virtualStages].value_or(chunks) >= chunks);
    if (!isThere || !pins.allows(kind))
      continue;
    mesh.schedule = kind;
    mesh.virtualStages = chunks;
    least = std::min(least, lowerBoundSeconds(model, mesh, request));
    // On homogeneous devices no other schedule has a lower bound.
    if (isV(kind) && model.kinds.empty())
      break;
  }
  for (auto [kind, chunks] :
       {std::pair(ScheduleKind::OneForwardOneBackward, 1), {ScheduleKind::VHalf, 2}}) {
    mesh.schedule = kind;
    mesh.virtualStages = chunks;
    if (pins.allows(kind) && (chunks == 1 || maySplit))
      for (const Decisions &each : vocabularyChoices(mesh, limits, pins))
        least = std::min(least, lowerBoundSeconds(model, each, request));
  }
  return least;
}
} // namespace dtc
