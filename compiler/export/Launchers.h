// One function for each launcher. Internal to this folder.
#pragma once

#include "compiler/export/PlanView.h"

namespace dtc::launch {

Result<ExportedPlan> exportToMegatronLm(const PlanView &view);
Result<ExportedPlan> exportToMegatronBridge(const PlanView &view);
Result<ExportedPlan> exportToTorchTitan(const PlanView &view);
Result<ExportedPlan> exportToDeepSpeed(const PlanView &view);
Result<ExportedPlan> exportToMaxText(const PlanView &view);

} // namespace dtc::launch
