// The number of instructions that a step of a program runs.
#pragma once

#include "dialects/exec/Exec.h"

namespace dtc {

// Counts of one step.
struct StepLength {
  int64_t instructions = 0;
  int64_t stops = 0; // records, waits, collectives, sends and receives among them
};

// Returns the counts of the longest entry. Instructions of a repeat count once per layer; an
// instruction that a task has in its last run only counts in each of its runs.
StepLength lengthOfStep(exec::ProgramOp program);

} // namespace dtc
