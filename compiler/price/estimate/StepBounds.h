// Bounds a step before it is costed, or from others once they are: the least of its seconds, and
// whether it may fit.
#pragma once

#include "compiler/price/estimate/EstimateRequest.h"
#include "compiler/price/estimate/ModelCost.h"

namespace dtc {

struct StepEstimate;

// Returns false if the step cannot fit: even the mean stage exceeds the limit with its parameters,
// gradients, states and the activations that layers with the most recomputation save of one
// micro-batch. Without a pipeline, programs answer for themselves. True on heterogeneous devices.
bool mayFit(const ModelCost &model, const Decisions &decisions, const EstimateRequest &request);

// Returns false if no step that fits takes `seconds` or less, by all that is known before it is
// costed: the recomputation that memory asks for, and the update. True if memory is not known.
bool mayFitWithin(const ModelCost &model, const Decisions &decisions,
                  const EstimateRequest &request, double seconds);

// Returns a lower bound of lowerBoundSeconds over all schedules, orders of axes and ZeRO stages, on
// homogeneous devices and without a shared vocabulary. `work` is workOfModel, so that nothing is
// sent or waited for.
double floorSeconds(const ModelCost &work, const Decisions &decisions,
                    const EstimateRequest &request);

// Returns a lower bound of the step under these decisions, for every cut into stages and every
// recomputation: work at the best rate, collectives that nothing hides, and the way down to each
// stage and up again. Ignores memory.
double lowerBoundSeconds(const ModelCost &model, const Decisions &decisions,
                         const EstimateRequest &request);

// Returns a lower bound of the same step with ZeRO within groups of ranks, on homogeneous devices:
// it needs more memory, and saves no more than collectives between ranks of dp. Infinite if it
// cannot fit; 0 if nothing is known, as for pipelines under ZeRO-2 and 3, whose layers cost
// otherwise and so may be cut otherwise.
double leastSecondsInGroups(const StepEstimate &step, const Decisions &decisions);

} // namespace dtc
