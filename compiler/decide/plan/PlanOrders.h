// The pipeline that a plan describes, and the orders of its stages.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/search/pipeline/Schedule.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Chunks, times and kept bytes as the plan's stages have them; a plan of one stage is a pipeline of
// one. Bytes are scaled so that a stage that keeps its `in_flight` micro-batches holds the plan's
// activations. Errors: stages that do not add up to the plan's pp and virtual stages, an unknown
// schedule, a plan without times (of a dtc that did not write them).
Result<PipelineProblem> pipelineOfPlan(const Plan &plan);

// Returns the bytes of the head that the last stage keeps besides its layers, for one micro-batch
// regardless of those in flight. 0 for other stages.
int64_t headBytesOf(const Plan &plan, size_t stage);

// Bytes in memory over bytes that the layers keep: what the allocator adds.
double spreadOf(const PlanStage &stage, int64_t headBytes);

// Gives the module of every stage, nested in `module` by dtc-cut-stages, its order (graph.order):
// what buildSchedule says of the plan's pipeline. With `ordersTransfers`, for GPUs, the order has
// transfers too, as orderTransfers places them; else each is next to the task that reads or makes
// its tensor.
Status orderStages(mlir::ModuleOp module, const Plan &plan, bool ordersTransfers);

} // namespace dtc
