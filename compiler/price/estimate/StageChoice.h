// Chooses the stages of one set of decisions: their cut, what their layers recompute and offload,
// and the bucket size of gradients. Internal to this folder.
#pragma once

#include "compiler/price/estimate/StageEstimate.h"
#include "compiler/price/estimate/StageInputs.h"

#include <vector>

namespace dtc {

// The stages, and what is known of other cuts.
struct ChosenStages {
  std::vector<StageEstimate> stages;
  // Exposed seconds of collectives inside the layers, of one micro-batch, by stage.
  std::vector<ExposedSeconds> exposed;
  int64_t bucketBytes = 0; // bucket size of gradients, or kStackBuckets
  // The cut depends on memory: always on heterogeneous devices, unless stages are even; on
  // homogeneous ones if some stages of the usual cut do not fit as they are.
  bool isCutByMemory = false;
  // Layers were moved between stages, for memory or for more equal stages.
  bool isMoved = false;
  // A lower bound of the slowest stage's seconds per micro-batch, over all cuts; 0 on heterogeneous
  // devices.
  double leastSlowestSeconds = 0;
  // The same bound over cuts in which all stages fit; 0 on heterogeneous devices, and if memory
  // does not affect the cut.
  double leastSlowestThatFits = 0;
};

// Chooses the stages so that the slowest one is as fast as possible. With `mayMove` false the
// slowest chunk is as fast as possible, and the cut ignores what stages recompute to fit.
ChosenStages chooseStages(const StageInputs &in, bool mayMove);

} // namespace dtc
