// How much a step of a program runs.
#pragma once

#include "dialects/exec/Exec.h"

namespace dtc {

struct StepLength {
  int64_t instructions = 0;
  int64_t stops = 0; // of these: records, waits, collectives, sends and receives
};

// Of the longest entry. Every layer counts, and what a task runs in its last run only in each of its runs.
StepLength lengthOfStep(exec::ProgramOp program);

} // namespace dtc
