// The simulation of a program's step as text and as JSON.
#pragma once

#include "compiler/show/timeline/Measured.h"

#include <optional>

namespace dtc {

// The model and the plan that a timeline is about.
struct TimelineText {
  std::string model;
  double predictedSeconds = 0; // seconds of the step predicted by the plan; 0: not known
};

// Text for people: the step beside what the plan predicted, a row per class of ranks, and, with a
// measured trace, kinds of instructions and those that differ most.
void printTimeline(llvm::raw_ostream &out, const TimelineText &about,
                   const ProgramSimulation &simulation, const std::optional<Comparison> &measured);

// {"schema": "dtc.timeline/1", "step_time_s", "predicted_step_time_s", "bubble_fraction",
// "exposed_comm_s", "classes": [...], "measured": {...}}
std::string timelineToJson(const TimelineText &about, const ProgramSimulation &simulation,
                           const std::optional<Comparison> &measured);

} // namespace dtc
