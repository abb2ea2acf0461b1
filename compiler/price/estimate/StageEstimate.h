// Time and memory of one stage of a pipeline.
#pragma once

#include "compiler/price/estimate/LayerWay.h"
#include "compiler/price/memory/MemoryParts.h"
#include "compiler/search/pipeline/Schedule.h"
#include "dialects/graph/Recompute.h"

#include "llvm/ADT/SmallVector.h"

#include <limits>

namespace dtc {

// The cost of one stage of the pipeline with all its chunks; seconds are of one micro-batch.
struct StageEstimate {
  llvm::SmallVector<std::pair<int64_t, int64_t>, 2> chunks;  // layers [first, last] of each
  llvm::SmallVector<ChunkTimes, 2> chunkTimes;               // one per chunk, saved bytes included
  double forward = 0, backwardInput = 0, backwardWeight = 0; // recomputation, waits included
  double computeSeconds = 0;                                 // part of these: kernels
  double exposedSeconds = 0;   // part of these: exposed collectives and copies inside the layers
  double recomputeSeconds = 0; // part of these: recomputation
  // Collectives of ZeRO-2 and 3 in layers: waits, and the slowdown of compute beside them.
  double gatherSeconds = 0;
  std::array<int32_t, kNumRecomputes> layersBy{}; // number of layers by recomputation
  // Returns the number of layers with this recomputation.
  int64_t layersThat(Recompute recompute) const { return layersBy[static_cast<size_t>(recompute)]; }
  int64_t offloadedLayers = 0; // number of layers whose activations are on the host
  double keptOnHost = 0;       // bytes of a micro-batch, beside keptPerMicroBatch
  double hostSeconds = 0;      // part of exposedSeconds: copies of these to the host and back
  // The cost of the gradient collectives with one bucket size, while sizes are compared.
  struct GradientCost {
    double seconds, exposedSeconds;
  };
  llvm::SmallVector<GradientCost, 10> gradientCosts; // one per bucket size
  double gradientSeconds = 0; // collectives of gradients and parameters, once a step
  double exposedGradientSeconds = 0;
  double optimizerSeconds = 0;
  double hostOptimizerSeconds = 0; // the update's time with its states on the host
  double statesOnHost = 0;         // bytes of optimizer states on the host
  // Host memory of one device: optimizer states, and activations that layers keep there.
  double hostBytes = 0;
  // Seconds of a micro-batch if the memory of the optimizer's states were free for less
  // recomputation; infinite if the stage does not fit even then.
  double microBatchWithoutStates = std::numeric_limits<double>::infinity();
  double memoryLimit = 0; // bytes of one of its devices
  // Seconds of a micro-batch in passes S and T of its share of the vocabulary, besides the chunks.
  double vocabularySeconds = 0;
  double inFlight = 0;          // micro-batches whose activations are alive at the peak
  double keptPerMicroBatch = 0; // bytes
  double stashed = 0;           // part of inFlight that waits for gradients of weights alone
  MemoryParts memory;
  // Returns the seconds of one micro-batch, forward and backward.
  double microBatch() const { return forward + backwardInput + backwardWeight; }
};

} // namespace dtc
