// A bound on what any plan of a model could reach.
#pragma once

#include "compiler/estimate/CellCost.h"

namespace dtc {

// Seconds that a step keeps each of the devices busy, at the least, by the cost model: the work of
// every op, done once at the best rate that it has on any of them, spread over all of them.
// Whatever a plan decides, cuts, recomputation, placements, micro-batches, orders, buckets, it adds
// to that: smaller shapes, copies of what is not split, collectives, waits. `whole` are the cells
// of one rank (tp = 1), as the software computes them (applyStack).
double relaxedStepSeconds(const ModelCells &whole, int64_t globalBatch, const Topology &topology,
                          const CellPrecision &precision);

} // namespace dtc
