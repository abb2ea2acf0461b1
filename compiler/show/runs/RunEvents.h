// The events of a run, found in its log.
#pragma once

#include "compiler/show/runs/RunLog.h"

namespace dtc {

// Something that happened to a run.
struct RunEvent {
  uint64_t first = 0, last = 0; // steps; 0 if the event has none
  double elapsed = kUnknown;    // seconds of the job when it was over
  std::string what, detail;
};

// Returns the events of rank 0's log in order of the steps, and then the flight records:
//   resumed: another start went on from a checkpoint
//   restarted: ranks failed and were started again
//   went back: the log has these steps twice
//   loss spike: the run went back to a checkpoint
//   skipped: gradients were not finite
//   loss not finite, straggler, failure
// Steps that follow each other with the same event are one event.
std::vector<RunEvent> eventsOf(const RunLog &run);

} // namespace dtc
