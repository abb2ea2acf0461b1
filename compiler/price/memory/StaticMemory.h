// Asks the compiler for placements and the static memory plan of a plan.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "dialects/exec/Exec.h"
#include "passes/schedule/StepLength.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace dtc {

// Records in `plan.tensors` and `plan.opSplits` where the parameters of `model` live and how its
// ops are split under the plan's tensor parallelism; experts are split over ep, and under ZeRO-3
// the rest over dp. False after a diagnostic.
bool placeTensors(mlir::ModuleOp model, Plan &plan, const SearchedPlacements &placements);

struct ScheduleOptions;

// Lowers a copy of the model, whose tensors the plan places, to the exec.program of a rank, or of
// one of each stage in order, and hands them to `use`. False after a diagnostic.
bool scheduleStep(mlir::ModuleOp model, const Plan &plan, const ScheduleOptions &options,
                  llvm::function_ref<void(exec::ProgramOp)> use);

// The size of one stage's static plan.
struct StaticSize {
  int64_t device = 0, host = 0; // bytes of the arena in each memory
  StepLength length;
};

// Returns the sizes of each stage of a compilable plan by lowering a copy of the model to exec, for
// GPUs if `onGpu` (ScheduleOptions). Returns nullopt after a diagnostic. For many micro-batches,
// lowers two smaller numbers of them and extrapolates, unless `isWhole`, as the lowering of a
// pipeline takes time proportional to their number.
std::optional<std::vector<StaticSize>> staticSizes(mlir::ModuleOp model, const Plan &plan,
                                                   bool onGpu = false, bool isWhole = false);

} // namespace dtc
