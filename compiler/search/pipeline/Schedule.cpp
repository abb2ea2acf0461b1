// Names of schedules, the policy of each, and the choice among the policies that a cap leaves.
#include "compiler/search/pipeline/Schedule.h"

#include "compiler/search/pipeline/BuildingBlock.h"
#include "compiler/search/pipeline/ListScheduler.h"
#include "compiler/support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>

using namespace dtc;

static constexpr std::pair<ScheduleKind, llvm::StringLiteral> kindNames[] = {
    {ScheduleKind::GPipe, "gpipe"},
    {ScheduleKind::OneForwardOneBackward, "1f1b"},
    {ScheduleKind::Interleaved, "interleaved"},
    {ScheduleKind::ZeroBubbleH1, "zero-bubble"},
    {ScheduleKind::ZeroBubbleV, "zb-v"},
    {ScheduleKind::ZeroBubble2P, "zb-2p"},
    {ScheduleKind::VHalf, "v-half"},
    {ScheduleKind::VMin, "v-min"},
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

// Sources: Qi et al., table 1 and 2 (H1, 2P as its H2, V); BuildingBlock.h (V-Half, V-Min);
// Narayanan et al., section 2.2 (GPipe, 1F1B); the warm-up count of Megatron-LM's
// forward_backward_pipelining_with_interleaving plus the one of steady state.
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
  case ScheduleKind::ZeroBubble2P:
    return {std::min(all, 2 * after + 1), std::min<int64_t>(all, 2 * int64_t(stages) - 1)};
  case ScheduleKind::VHalf:
  case ScheduleKind::VMin: {
    int64_t peak = std::min<int64_t>(all, blockPeak(kind, stages));
    return {peak, peak};
  }
  }
  return {};
}

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

// Returns true if the strict order fits the memory cap, judged by the largest chunk of each stage.
static bool surelyFits(const PipelineProblem &problem, const SchedulePolicy &strict) {
  for (int chunk = 0; chunk < static_cast<int>(problem.chunks.size()); ++chunk) {
    int stage = stageOfChunk(problem.kind, problem.stages, chunk);
    if (problem.chunks[chunk].activationBytes >
        problem.memoryCap[stage] / strict.caps[stage].activations)
      return false;
  }
  return true;
}

static bool fits(const PipelineProblem &problem, const SchedulePolicy &strict) {
  if (problem.memoryCap.empty() || surelyFits(problem, strict))
    return true;
  PipelineSchedule schedule = *listSchedule(problem, strict);
  for (int stage = 0; stage < problem.stages; ++stage) {
    StageMemory memory(problem);
    for (const PipelineTask &task : schedule.order[stage]) {
      memory.start(task);
      if (memory.bytes > problem.memoryCap[stage])
        return false;
      memory.finish(task);
    }
  }
  return true;
}

// H1's order does not depend on the durations: letting it (or W, as the authors' scheduler does)
// gained nothing in 240 cases of unequal stages; nor 2P's, in 70 of equal ones with B up to twice
// F. For ZB-V, where one order or another is up to 20 % better, these four are the ones that gained
// most together in as many. For V-Half and V-Min the three are within 1 % of the best of sixteen in
// 150 cases each: the block as it is drawn alone is 5 % to 15 % behind where F, B and W differ. The
// last never comes to a stop.
static std::vector<SchedulePolicy> zeroBubblePolicies(SchedulePolicy base, ScheduleKind kind) {
  base.merged = false;
  base.forwardFirst = true;
  SchedulePolicy drawn = base;
  drawn.uniform = true;
  if (kind == ScheduleKind::ZeroBubbleH1 || kind == ScheduleKind::ZeroBubble2P)
    return {drawn};
  SchedulePolicy eager = base, patient = base, crowded = base;
  eager.keepsWay = true;
  patient.keepsWay = true;
  patient.patience = 0.25;
  crowded.patience = 0.5;
  if (kind == ScheduleKind::ZeroBubbleV)
    return {drawn, eager, patient, crowded};
  SchedulePolicy block = drawn;
  block.byBlock = true;
  SchedulePolicy patientBlock = base;
  patientBlock.byBlock = true;
  patientBlock.patience = 0.5;
  return {block, patientBlock, patient};
}

// The policies that look at the clock, in the order of preference among equals.
static std::vector<SchedulePolicy> clockPolicies(const PipelineProblem &problem) {
  SchedulePolicy base;
  base.strict = false;
  base.caps = capsOf(problem, /*fullGroups=*/false);
  if (splitsBackward(problem.kind))
    return zeroBubblePolicies(base, problem.kind);
  std::vector<SchedulePolicy> policies;
  for (int group = problem.virtualStages > 1 ? problem.stages : 1; group >= 1; group /= 2) {
    base.group = group;
    policies.push_back(base);
  }
  return policies;
}

std::vector<SchedulePolicy> dtc::policiesOf(const PipelineProblem &problem) {
  if (!splitsBackward(problem.kind))
    if (SchedulePolicy strict = strictPolicy(problem); fits(problem, strict))
      return {strict};
  return clockPolicies(problem);
}

Status dtc::checkSchedulable(const PipelineProblem &problem) {
  if (Status checked = checkProblem(problem); !checked)
    return checked;
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
  if (Status checked = checkSchedulable(problem); !checked)
    return checked.error();
  std::vector<SchedulePolicy> policies = policiesOf(problem);
  std::optional<PipelineSchedule> best;
  double seconds = 0;
  for (const SchedulePolicy &policy : policies) {
    std::optional<PipelineSchedule> found = listSchedule(problem, policy);
    if (!found)
      continue;
    if (policies.size() == 1)
      return std::move(*found);
    double makespan = timeSchedule(*found, problem)->makespan;
    if (best && makespan >= seconds * (1 - 1e-12))
      continue;
    best = std::move(found);
    seconds = makespan;
  }
  assert(best && "groups of one micro-batch, and sequences per chunk, never come to a stop");
  return std::move(*best);
}
