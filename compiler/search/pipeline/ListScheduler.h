// The list scheduler behind every pipeline schedule; a schedule is a policy of it.
#pragma once

#include "compiler/search/pipeline/Geometry.h"

namespace dtc {

// The rules that distinguish one schedule from another. Every stage holds sequences of forwards and
// of backwards and takes the next task from the head of one of them.
struct SchedulePolicy {
  // One sequence over all chunks of a stage: `group` micro-batches of its first chunk, the same of
  // its second and so on, then the next group; backward from the last chunk to the first. Otherwise
  // one sequence per chunk.
  bool merged = true;
  int group = 1;
  // True: the order ignores the clock, and a stage runs a forward while fewer than `activations`
  // are stored, else a backward. False: it runs any ready task, by priority.
  bool strict = true;
  // The most chunk activations per stage, as in InFlight.
  std::vector<InFlight> caps;
  // The preference of a stage that is not strict. Among backwards the older micro-batch goes first,
  // among forwards the later chunk; W fills the idle time.
  bool forwardFirst = false; // forward before backward
  // A task does not start if one that is preferred to it arrives before this share of its time.
  double patience = 0;
  // Room is kept for the next micro-batch that has forwards left, not only for the oldest one.
  bool keepsWay = false;
  // Every task is taken to last as long as every other, and transfers no time: the order is then
  // the one that papers draw.
  bool uniform = false;
  // The building block of the kind says which task comes first, whatever its kind; a forward keeps
  // room for those that come before it.
  bool byBlock = false;
};

// The schedule of a policy within the caps of policy and problem; none if the stages come to a stop
// in it. With one sequence per chunk, or groups of one micro-batch, they do not if one micro-batch
// fits (leastBytes): what is in flight can always be completed from the oldest on.
std::optional<PipelineSchedule> listSchedule(const PipelineProblem &problem,
                                             const SchedulePolicy &policy);

// The problem with the times that the policy looks at.
PipelineProblem seenBy(const SchedulePolicy &policy, const PipelineProblem &problem);

// The bytes that one micro-batch needs on a stage.
int64_t leastBytes(const PipelineProblem &problem, int stage);

// Everything that buildSchedule refuses.
Status checkSchedulable(const PipelineProblem &problem);

} // namespace dtc
