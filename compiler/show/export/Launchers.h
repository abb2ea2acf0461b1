// One function for each launcher. Internal to this folder.
#pragma once

#include "compiler/show/export/ExportedPlan.h"
#include "compiler/show/export/PlanView.h"

namespace dtc::launch {

// The releases since which configurations differ from those of the commit before them.
inline constexpr llvm::StringRef kTorchTitanRelease = "0.3.0"; // counts samples, not tokens
inline constexpr llvm::StringRef kDeepSpeedRelease = "0.19.8"; // has no MiCS: ZeRO-3 within groups

// Exports a plan to Megatron-LM.
Result<ExportedPlan> exportToMegatronLm(const PlanView &view);
// Exports a plan to Megatron-Bridge.
Result<ExportedPlan> exportToMegatronBridge(const PlanView &view);
// Exports a plan to torchtitan.
Result<ExportedPlan> exportToTorchTitan(const PlanView &view);
// Exports a plan to DeepSpeed.
Result<ExportedPlan> exportToDeepSpeed(const PlanView &view);
// Exports a plan to MaxText.
Result<ExportedPlan> exportToMaxText(const PlanView &view);

} // namespace dtc::launch
