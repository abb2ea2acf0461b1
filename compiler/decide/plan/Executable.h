// Limits of 'dtc compile' on whole plans and on the length of a step. Each decision says which of
// its values can be compiled (InPrograms), and ops that can't be lowered declare this themselves
// (PlanOnlyOpInterface).
#pragma once

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/decide/plan/Plan.h"
#include "passes/schedule/StepLength.h"

namespace dtc {

// Returns true if the decisions can be compiled.
inline bool isExecutable(const Decisions &decisions) { return !findUncompilable(decisions); }

// Checks a whole plan. Returns "" or one message that names the key and the nearest choice that
// compiles.
std::string whyNotExecutable(const Plan &plan);

// Returns why an executable can't have `microBatches` micro-batches of that length
// (runtime/format/Limits.h); "" if it can.
std::string whyTooLong(const StepLength &length, int64_t microBatches);

// Returns the step's largest resource use as a multiple of the executable's limit.
double overLongest(const StepLength &length);

// Advice that follows such a message.
inline constexpr const char *kShorterSteps =
    "use a larger micro_batch, or a smaller --global-batch";

// Layers times micro-batches: of fewer no step is too long, unless a layer runs a thousand
// instructions, or 256 that order streams or meet other ranks.
inline constexpr int64_t kFewLayers = int64_t(1) << 16;

} // namespace dtc
