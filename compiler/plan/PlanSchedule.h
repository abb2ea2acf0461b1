// The schedules of compiler/pipeline under the names that plans have for them.
#pragma once

#include "compiler/pipeline/Schedule.h"

namespace dtc {

// "gpipe", "1f1b", "interleaved" or "zero-bubble"; the last is H1 with one virtual stage and ZB-V
// with two.
llvm::StringRef planNameOf(ScheduleKind kind);

// The reverse. Errors: a name that is none of the four, zero-bubble with more than two virtual
// stages.
Result<ScheduleKind> scheduleFromPlan(llvm::StringRef name, int64_t virtualStages);

} // namespace dtc
