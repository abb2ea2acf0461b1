// Decides whether stages can fit, and be as fast as they would have to be. Internal to this folder.
#pragma once

#include "compiler/price/estimate/StageInputs.h"

namespace dtc {

// Returns false if no cut, with no recomputation that the decisions allow, makes all stages fit and
// a step end within `seconds`.
bool mayFitWithin(const StageInputs &in, double seconds);

} // namespace dtc
