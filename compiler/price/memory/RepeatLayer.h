// Lengthens the outline of a step by layers.
#pragma once

#include "compiler/price/memory/StepOutline.h"

namespace dtc {

// The time span of the middle one of three layers that instructions pass through in order: forward,
// backward (descending), or updates.
struct LayerRun {
  int64_t begin, end; // [begin, end)
  bool isDescending;
};

// The outline of a step with `copies` layers more, which are like the middle one.
//
// Example: forward L0 L1 L2, backward L2 L1 L0 and one copy give L0 L1 L1' L2, L2 L1' L1 L0; what
// L1 keeps for its backward pass is there twice, the copy's from L1' to L1'.
StepOutline repeatMiddleLayer(const StepOutline &outline, llvm::ArrayRef<LayerRun> runs,
                              int64_t copies);

} // namespace dtc
