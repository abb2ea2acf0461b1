// The list scheduler behind every pipeline schedule; a schedule is a policy of it.
#pragma once

#include "compiler/pipeline/Geometry.h"

namespace dtc {

// What makes a schedule the one it is. Every stage holds sequences of forwards and of backwards
// and takes the next task from the head of one of them.
struct SchedulePolicy {
  // One sequence over all chunks of a stage: `group` micro-batches of its first chunk, the same of
  // its second and so on, then the next group; backward from the last chunk to the first. Otherwise
  // one sequence per chunk.
  bool merged = true;
  int group = 1;
  // Without looking at the clock: forward while fewer than `activations` are kept, else backward.
  // Otherwise whatever is ready, by priority.
  bool strict = true;
  // The most chunk activations per stage, as in InFlight.
  std::vector<InFlight> caps;
  // Priorities of a stage that is not strict. The older micro-batch goes first among backwards.
  bool forwardFirst = false; // forward before backward
  bool deepFirst = true;     // forward of the later chunk first
  bool holdWeight = false;   // a W does not start if a known input arrives before its end
};

struct ListSchedule {
  PipelineSchedule schedule;
  double makespan = 0; // seconds; not set by strict policies
};

// The schedule of a policy within the caps of policy and problem; none if the stages come to a stop
// in it. A stage always keeps room for what is left of its oldest micro-batch, so with one sequence
// per chunk, or groups of one, they do not if one micro-batch fits (leastBytes).
std::optional<ListSchedule> listSchedule(const PipelineProblem &problem,
                                         const SchedulePolicy &policy);

// The bytes that one micro-batch needs on a stage.
int64_t leastBytes(const PipelineProblem &problem, int stage);

} // namespace dtc
