// Asks the compiler for placements and the static memory plan of a plan.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "dialects/exec/Exec.h"
#include "passes/Pipelines.h"
#include "passes/schedule/StepLength.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace dtc {

// Records in `plan.tensors` and `plan.opSplits` where the parameters of `model` live and how its
// ops are split under the plan's tensor parallelism; experts are split over ep, and under ZeRO-3
// the rest over dp. False after a diagnostic.
bool placeTensors(mlir::ModuleOp model, Plan &plan, const SearchedPlacements &placements);

struct ScheduleOptions;

// Lowers a copy of the model, whose tensors the plan places, to the exec.program of a rank, or of
// one of each stage in order. Null after a diagnostic. `settings`: of the step, where the plan does
// not decide them.
mlir::OwningOpRef<mlir::ModuleOp> scheduleStep(mlir::ModuleOp model, const Plan &plan,
                                               const StepOptions &settings,
                                               const ScheduleOptions &options);

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

// A whole step as `dtc compile` schedules it, but that no layers are rolled up and nothing is
// checked (buildFinishPipeline).
struct ScheduledStep {
  mlir::OwningOpRef<mlir::ModuleOp> module; // null if there is none
  StepOptions options;                      // all settings of the step, those of the plan too
  bool onGpu = false;                       // of ScheduleOptions
};

// The sizes of each stage, and the step that they were read from.
struct SizedStep {
  std::vector<StaticSize> sizes;
  ScheduledStep step; // none where sizes are extrapolated, and for pipelines: the order of their
                      // stages depends on sizes that the plan gets later
};

// Does what staticSizes does, for a step with these settings where the plan does not decide them,
// and keeps the step.
std::optional<SizedStep> sizeStep(mlir::ModuleOp model, const Plan &plan,
                                  const StepOptions &settings, bool onGpu);

} // namespace dtc
