// The mixes of recomputation and offloading with which a stage fits. Internal to this folder.
#pragma once

#include "compiler/price/estimate/StageMemory.h"

#include "llvm/ADT/SmallVector.h"

namespace dtc {

// A mix of two ways in a stage: its first layers use `high`, which recomputes more or offloads, the
// others `low`.
struct LayerMix {
  LayerWay low, high;
};

// Layers of one kind that follow each other.
struct EqualLayers {
  size_t block; // index of the model's blocks
  int64_t layers;
};

// Returns the layers of a stage, in order.
llvm::SmallVector<EqualLayers, 4> runsOf(const StageEstimate &stage, const StageKind &at);

// Returns the bytes of the largest workspace of a stage whose layers all use a way.
double workspaceOf(llvm::ArrayRef<EqualLayers> runs, const StageKind &at, LayerWay way);

// Returns all ways that a layer may use beyond the least.
llvm::SmallVector<LayerWay, kNumLayerWays> waysToKeepLess(const StageInputs &in);

// A stage that exceeds its memory limit.
struct OverfullStage {
  llvm::ArrayRef<EqualLayers> runs;
  const StageKind &at;
  MicroBatchesAlive alive;
  double hostRoom; // bytes of host memory that its layers may use
};

// The fastest mix that frees the bytes by which a stage exceeds its limit.
struct FittingMix {
  LayerMix mix;
  int64_t high = 0;   // layers that use mix.high
  double seconds = 0; // added to a micro-batch; infinite if no mix fits
};

// The mixes that may be the fastest.
class LayerMixes {
public:
  // Finds the mixes, none if layers have no choice, or all of a chunk's layers the same one. Keeps
  // the reference.
  explicit LayerMixes(const StageInputs &in);

  // Returns the fastest mix that frees `over` bytes of a stage.
  FittingMix toFit(const OverfullStage &stage, double over) const;

private:
  const StageInputs &in;
  std::vector<LayerMix> mixes;
};

} // namespace dtc
