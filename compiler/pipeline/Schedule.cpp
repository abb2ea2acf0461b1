// Names of schedules, the policy of each, and the choice among the policies that a cap leaves.
#include "compiler/pipeline/Schedule.h"

#include "compiler/pipeline/ListScheduler.h"
#include "compiler/support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>

using namespace dtc;

//===-- Names
//------------------------------------------------------------------------------------===//

static constexpr std::pair<ScheduleKind, llvm::StringLiteral> kindNames[] = {
    {ScheduleKind::GPipe, "gpipe"},
    {ScheduleKind::OneForwardOneBackward, "1f1b"},
    {ScheduleKind::Interleaved, "interleaved"},
    {ScheduleKind::ZeroBubbleH1, "zero-bubble"},
    {ScheduleKind::ZeroBubbleV, "zb-v"},
};

llvm::StringRef dtc::toString(ScheduleKind kind) {
  return llvm::find_if(kindNames, [&](auto &entry) { return entry.first == kind; })->second;
}

Result<ScheduleKind> dtc::scheduleKindFromString(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const auto &[kind, known] : kindNames) {
    if (name == known)
      return kind;
    names.push_back(known);
  }
  std::string nearest = nearestName(name, names);
  return UserError("the schedule is '" + name.str() + "', wanted " + llvm::join(names, ", "),
                   nearest.empty() ? "" : "did you mean '" + nearest + "'");
}

llvm::StringRef dtc::toString(PipelineTaskKind kind) {
  switch (kind) {
  case PipelineTaskKind::Forward:
    return "F";
  case PipelineTaskKind::Backward:
  case PipelineTaskKind::BackwardInput:
    return "B";
  case PipelineTaskKind::BackwardWeight:
    return "W";
  }
  return "";
}

//===-- Closed forms of what is in flight
//--------------------------------------------------------===//

// Sources: Qi et al., table 1 and 2 (H1, V); Narayanan et al., section 2.2 (GPipe, 1F1B); the
// warm-up count of Megatron-LM's forward_backward_pipelining_with_interleaving plus the one of
// steady state.
InFlight dtc::inFlight(ScheduleKind kind, int stages, int virtualStages, int microBatches,
                       int stage) {
  int64_t all = int64_t(microBatches) * virtualStages, after = stages - 1 - stage;
  switch (kind) {
  case ScheduleKind::GPipe:
    return {all, all};
  case ScheduleKind::OneForwardOneBackward:
    return {std::min(all, after + 1), std::min(all, after + 1)};
  case ScheduleKind::Interleaved: {
    int64_t warmup = virtualStages == 1 ? after : int64_t(stages) * (virtualStages - 1) + 2 * after;
    return {std::min(all, warmup + 1), std::min(all, warmup + 1)};
  }
  case ScheduleKind::ZeroBubbleH1:
    return {std::min(all, after + 1), std::min<int64_t>(all, stages)};
  case ScheduleKind::ZeroBubbleV:
    return {std::min(all, 2 * int64_t(stages)), std::min(all, 2 * int64_t(stages))};
  }
  return {};
}

//===-- Policies
//---------------------------------------------------------------------------------===//

// In an interleaved schedule a last group that is not full keeps the caps of full ones.
static std::vector<InFlight> capsOf(const PipelineProblem &problem, bool fullGroups) {
  int microBatches = problem.microBatches;
  if (fullGroups && problem.kind == ScheduleKind::Interleaved)
    microBatches = static_cast<int>(llvm::alignTo(microBatches, problem.stages));
  std::vector<InFlight> caps;
  for (int stage = 0; stage < problem.stages; ++stage)
    caps.push_back(
        inFlight(problem.kind, problem.stages, problem.virtualStages, microBatches, stage));
  return caps;
}

static SchedulePolicy strictPolicy(const PipelineProblem &problem) {
  SchedulePolicy policy;
  policy.group = problem.virtualStages > 1 ? problem.stages : 1;
  policy.caps = capsOf(problem, /*fullGroups=*/true);
  return policy;
}

static bool fits(const PipelineProblem &problem, const PipelineSchedule &schedule) {
  if (problem.memoryCap.empty())
    return true;
  for (int stage = 0; stage < problem.stages; ++stage) {
    StageMemory memory(problem);
    for (const PipelineTask &task : schedule.order[stage]) {
      memory.start(task);
      if (memory.bytes > problem.memoryCap[stage])
        return false;
      memory.finish(task);
      if (memory.bytes > problem.memoryCap[stage])
        return false;
    }
  }
  return true;
}

// The policies that look at the clock, in the order of preference among equals.
static std::vector<SchedulePolicy> clockPolicies(const PipelineProblem &problem) {
  SchedulePolicy base;
  base.strict = false;
  base.caps = capsOf(problem, /*fullGroups=*/false);
  std::vector<SchedulePolicy> policies;
  if (splitsBackward(problem.kind)) {
    base.merged = false;
    for (bool forwardFirst : {false, true})
      for (bool holdWeight : {false, true}) {
        base.forwardFirst = forwardFirst;
        base.holdWeight = holdWeight;
        policies.push_back(base);
      }
    return policies;
  }
  for (int group = problem.virtualStages > 1 ? problem.stages : 1; group >= 1; group /= 2) {
    base.group = group;
    policies.push_back(base);
  }
  return policies;
}

static Outcome checkCaps(const PipelineProblem &problem) {
  for (size_t stage = 0; stage < problem.memoryCap.size(); ++stage) {
    int64_t least = leastBytes(problem, static_cast<int>(stage));
    if (problem.memoryCap[stage] < least)
      return UserError(("scheduling a '" + toString(problem.kind) + "' pipeline: stage " +
                        llvm::Twine(stage) + " has " + llvm::Twine(problem.memoryCap[stage]) +
                        " bytes for activations, wanted at least " + llvm::Twine(least) + " (" +
                        printRounded(static_cast<double>(least), Quantity::Bytes) +
                        ") for one micro-batch")
                           .str(),
                       "recompute more, shard more or cut the stage");
  }
  return {};
}

Result<PipelineSchedule> dtc::buildSchedule(const PipelineProblem &problem) {
  if (Outcome checked = checkProblem(problem); !checked)
    return checked.error();
  if (Outcome caps = checkCaps(problem); !caps)
    return caps.error();
  if (!splitsBackward(problem.kind)) {
    std::optional<ListSchedule> strict = listSchedule(problem, strictPolicy(problem));
    assert(strict && "counts never come to a stop");
    if (fits(problem, strict->schedule))
      return std::move(strict->schedule);
  }
  std::optional<ListSchedule> best;
  for (const SchedulePolicy &policy : clockPolicies(problem))
    if (std::optional<ListSchedule> found = listSchedule(problem, policy))
      if (!best || found->makespan < best->makespan * (1 - 1e-12))
        best = std::move(found);
  assert(best && "groups of one micro-batch, and sequences per chunk, never come to a stop");
  return std::move(best->schedule);
}
