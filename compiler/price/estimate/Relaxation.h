// A bound on what any plan of a model could reach.
#pragma once

#include "compiler/price/estimate/CellCost.h"

namespace dtc {

// Returns a lower bound of a step's seconds by the cost model: the work of every op, done once at
// the best rate of any device, spread over all devices. Every decision of a plan (cuts,
// recomputation, placements, micro-batches, orders, buckets) only adds to that: smaller shapes,
// copies of what is not split, collectives, waits. `whole` are the cells of one rank (tp = 1), as
// the software computes them (applyStack).
double relaxedStepSeconds(const ModelCells &whole, int64_t globalBatch, const Topology &topology,
                          const CellPrecision &precision);

} // namespace dtc
