// What 'dtc compile' lowers today: the one list, which pins, search, memory of programs and
// compiling read. Ops that it can't lower say so themselves (PlanOnlyOpInterface).
#pragma once

#include "compiler/plan/Plan.h"
#include "passes/schedule/StepLength.h"

namespace dtc {

// What decisions must be for a program of them.
struct ExecutableLimit {
  llvm::StringRef key;  // of decisionNames
  llvm::StringRef mend; // the flag of 'dtc plan' that keeps to it
  bool (*holds)(const Decisions &);
};

// The first limit that does not hold; null where decisions can be compiled.
const ExecutableLimit *brokenLimit(const Decisions &decisions);
inline bool isExecutable(const Decisions &decisions) { return !brokenLimit(decisions); }

// Of a whole plan. Returns "" or one message that names the key and the nearest choice that
// compiles.
std::string whyNotExecutable(const Plan &plan);

// Why an executable may not have steps of so many micro-batches that are that long (runtime/format/Limits.h); "" where
// it may.
std::string whyTooLong(const StepLength &length, int64_t microBatches);

// How many times what an executable may have a step has, of what it has most.
double overLongest(const StepLength &length);

// What to do about it.
inline constexpr const char *kShorterSteps =
    "use a larger micro_batch, or a smaller --global-batch";

// Layers times micro-batches: of fewer no step is too long, unless a layer runs a thousand instructions, or 256 that order
// streams or meet other ranks.
inline constexpr int64_t kFewLayers = int64_t(1) << 16;

} // namespace dtc
