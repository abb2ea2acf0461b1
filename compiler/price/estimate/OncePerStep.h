// Costs the work that a stage does once a step: gradients and parameters between replicas, and the
// update.
// Internal to this folder.
#pragma once

#include "compiler/price/estimate/StageMemory.h"

#include <vector>

namespace dtc {

// Returns the work of an update of so many parameters, which reads states, master copy and gradient
// and writes states and parameters; the norm of the gradients is one more pass over them.
OpWork updateOf(double parameters, const CellPrecision &precision);

// Adds the seconds of a stage's update, and of its gradients' collectives with each bucket size.
void addOncePerStep(const StageInputs &in, const PartSums &sums, const StageKind &at,
                    StageEstimate &stage);

// Chooses the bucket size, one for all stages, with which the last stage is done first, and sets
// the seconds of gradients to those with it. Returns the size in bytes, or kStackBuckets for the
// stack's. A later stage is done with its gradients while earlier ones still compute theirs.
int64_t chooseBuckets(const StageInputs &in, std::vector<StageEstimate> &stages);

} // namespace dtc
