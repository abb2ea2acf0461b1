// How much a step of a program runs, which executables have limits for (runtime/format/Limits.h).
#pragma once

#include "dialects/exec/Exec.h"

namespace dtc {

struct StepLength {
  int64_t instructions = 0;
  int64_t stops = 0; // of these: records, waits, collectives, sends and receives
};

// Of the longest entry. Every layer counts, and what a task runs in its last run only in each of its runs.
StepLength lengthOfStep(exec::ProgramOp program);

// What to do about steps that are too long for an executable.
inline constexpr llvm::StringLiteral kShorterSteps =
    "use a larger micro_batch, or a smaller --global-batch";

// Why an executable may not have steps of so many micro-batches that are that long; "" where it may.
std::string whyTooLong(const StepLength &length, int64_t microBatches);

// Fails after a diagnostic at the program's place.
llvm::LogicalResult checkLength(exec::ProgramOp program);

} // namespace dtc
