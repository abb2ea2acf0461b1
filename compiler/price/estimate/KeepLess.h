// Makes layers of a stage save fewer bytes until the stage fits: recomputation and offloading.
// Internal to this folder.
#pragma once

#include "compiler/price/estimate/LayerMixes.h"

#include <vector>

namespace dtc {

// Makes layers of a stage save less until it fits, by the fastest mix. Returns true if any layer
// has to.
bool keepLessUntilItFits(const StageInputs &in, const LayerMixes &mixes, const StageKind &at,
                         StageEstimate &stage);

// Makes the n-th layer of every chunk recompute the most, for one n after another, until all stages
// fit.
void recomputeEvenly(const StageInputs &in, std::vector<StageEstimate> &stages);

// Sets microBatchWithoutStates once a stage fits without the optimizer's states: it would stop to
// recompute more there.
void noteWithoutStates(StageEstimate &stage);

} // namespace dtc
