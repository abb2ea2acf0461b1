// The schedules of compiler/pipeline under the names that plans have for them.
#include "compiler/plan/PlanSchedule.h"

namespace dtc {

llvm::StringRef planNameOf(ScheduleKind kind) {
  return toString(kind == ScheduleKind::ZeroBubbleV ? ScheduleKind::ZeroBubbleH1 : kind);
}

Result<ScheduleKind> scheduleFromPlan(llvm::StringRef name, int64_t virtualStages) {
  for (ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward,
                            ScheduleKind::Interleaved, ScheduleKind::ZeroBubbleH1}) {
    if (name != toString(kind))
      continue;
    if (kind != ScheduleKind::ZeroBubbleH1 || virtualStages == 1)
      return kind;
    if (virtualStages == 2)
      return ScheduleKind::ZeroBubbleV;
    return UserError("schedule zero-bubble with " + std::to_string(virtualStages) +
                         " virtual stages does not exist",
                     "use 1 (ZB-H1) or 2 (ZB-V)");
  }
  return UserError("there is no schedule '" + name.str() + "'",
                   "schedules are gpipe, 1f1b, interleaved and zero-bubble");
}

} // namespace dtc
