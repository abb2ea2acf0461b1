// What the compiler itself says of a plan: placements and the static memory plan.
#pragma once

#include "compiler/plan/Plan.h"
#include "dialects/exec/Exec.h"
#include "passes/schedule/StepLength.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace dtc {

// Records in `plan.tensors` and `plan.opSplits` where the parameters of `model` live and how its ops
// are split under the plan's tensor parallelism; experts are split over ep, and under ZeRO-3 the
// rest over dp. False after a diagnostic.
bool placeTensors(mlir::ModuleOp model, Plan &plan, const SearchedPlacements &placements);

struct ScheduleOptions;

// Lowers a copy of the model, whose tensors the plan places, to the exec.program of a rank, or of
// one of each stage in order, and hands them to `use`. False after a diagnostic.
bool scheduleStep(mlir::ModuleOp model, const Plan &plan, const ScheduleOptions &options,
                  llvm::function_ref<void(exec::ProgramOp)> use);

struct StaticSize {
  int64_t device = 0, host = 0; // bytes of the arena in each memory
  StepLength length;
};

// Of each stage of a plan that can be compiled: a copy of the model is lowered to exec, as for GPUs where `onGpu`
// (ScheduleOptions). Nothing after a diagnostic. Of many micro-batches two numbers of few
// are lowered, and the rest follows, unless `isWhole`: that of pipelines takes as long as there are micro-batches.
std::optional<std::vector<StaticSize>> staticSizes(mlir::ModuleOp model, const Plan &plan,
                                                   bool onGpu = false, bool isWhole = false);

} // namespace dtc
