// Enumerates the decisions that the planner may choose for a mesh.
#include "compiler/search/planner/DetailSpace.h"

#include "compiler/search/planner/LegalPlans.h"
#include "compiler/search/planner/LossChoices.h"
#include "compiler/search/planner/MemoryChoices.h"
#include "compiler/search/planner/VocabularyChoices.h"
#include "compiler/search/planner/ZeroGroups.h"

namespace dtc {

using D = Decisions;

constexpr int64_t kMostVirtualStages = 12;

// Adds the schedules and virtual stages that suit a number of stages.
static void addSchedules(const Decisions &mesh, const SpaceLimits &limits, const Pins &pins,
                         std::vector<Decisions> &out) {
  auto add = [&](ScheduleKind kind, int64_t v) {
    if (!pins.allows(kind) || !permits(pins[&D::virtualStages], v))
      return;
    Decisions d = mesh;
    d.schedule = kind;
    d.virtualStages = v;
    out.push_back(d);
  };
  if (mesh.pp == 1) { // all schedules are the same, and none is a V
    Decisions d = mesh;
    d.schedule = pins[&D::schedule].value_or(d.schedule);
    if (permits(pins[&D::virtualStages], 1) && !isV(d.schedule))
      out.push_back(d);
    return;
  }
  add(ScheduleKind::OneForwardOneBackward, 1);
  add(ScheduleKind::GPipe, 1);
  add(ScheduleKind::ZeroBubbleH1, 1);
  add(ScheduleKind::ZeroBubble2P, 1);
  for (int64_t v = 2; v <= kMostVirtualStages && mesh.pp * v <= mostChunks(limits); ++v)
    add(ScheduleKind::Interleaved, v);
  if (pins[&D::schedule] && *pins[&D::schedule] == ScheduleKind::Interleaved)
    add(ScheduleKind::Interleaved, 1);
  if (mesh.pp * 2 <= mostChunks(limits))
    for (ScheduleKind v : {ScheduleKind::ZeroBubbleV, ScheduleKind::VHalf, ScheduleKind::VMin})
      add(v, 2);
}

// Returns the lowest ZeRO stage to try. ZeRO splits nothing if ranks have no copies, but software
// may require a stage.
static int64_t leastZero(Decisions d, const SpaceLimits &limits, bool offload) {
  d.offloadOptimizer = offload;
  for (d.zero = 0; d.zero < 3; ++d.zero)
    if (!limits.space || isLegalZero(d, *limits.space))
      return d.zero;
  return 0;
}

// Returns true if software with buckets of its own sends gradients at the time that a pin asks for.
static bool overlapsAs(const Pins &pins, const Decisions &d, const SpaceLimits &limits) {
  if (!pins[&D::overlapGradients] || !limits.space || limits.choosesBuckets || !d.hasReplicas())
    return true;
  return limits.space->reducesLast(d.pp > 1, d.zero) == !*pins[&D::overlapGradients];
}

std::vector<Decisions> enumerateDetails(const Decisions &mesh, const SpaceLimits &limits,
                                        const Pins &pins) {
  std::vector<Decisions> schedules, all;
  addSchedules(mesh, limits, pins, schedules);
  std::vector<RecomputeChoice> recomputes = recomputeChoices(mesh, limits, pins);
  llvm::SmallVector<int64_t, 2> lossChunks = lossChoices(mesh, limits, pins);
  for (const Decisions &schedule : schedules)
    for (int64_t zero = 0; zero <= 3; ++zero) {
      auto isUseful = [&](bool offload) {
        return mesh.hasReplicas() || pins[&D::zero] || zero == leastZero(mesh, limits, offload);
      };
      if (!permits(pins[&D::zero], zero) || !(isUseful(false) || isUseful(true)))
        continue;
      int64_t group = pinnedGroupOf(pins, mesh.dp);
      if (group > 0 && (zero == 0 || !mayShare(mesh, group)))
        continue;
      for (const RecomputeChoice &choice : recomputes) {
        Decisions d = withZeroGroup(schedule, group);
        d.zero = zero;
        if (!overlapsAs(pins, d, limits))
          continue;
        d.recompute = choice.least;
        d.recomputeMost = choice.most;
        for (int64_t chunks : lossChunks) {
          d.lossChunks = chunks;
          if (!mayCutLoss(d, limits))
            continue;
          for (const Decisions &divided : vocabularyChoices(d, limits, pins))
            for (Decisions each : hostChoices(divided, limits, pins))
              for (bool offload : {false, true}) {
                each.offloadOptimizer = offload;
                bool isChoice = pins[&D::offloadOptimizer] ? offload == *pins[&D::offloadOptimizer]
                                                           : !offload || limits.mayOffload;
                if (isChoice && isUseful(offload) && isAllowed(each, limits))
                  all.push_back(each);
              }
        }
      }
    }
  return all;
}

} // namespace dtc
