// Time and memory of one stage of a pipeline.
#pragma once

#include "compiler/memory/MemoryParts.h"
#include "compiler/pipeline/Schedule.h"
#include "dialects/graph/Recompute.h"

#include "llvm/ADT/SmallVector.h"

#include <limits>

namespace dtc {

// The way that a layer saves device memory.
struct LayerWay {
  Recompute recompute = Recompute::None;
  bool isOnHost = false; // remaining saved activations are on the host
  bool operator==(const LayerWay &) const = default;
  // Returns the index of this way among kNumLayerWays.
  size_t index() const { return static_cast<size_t>(recompute) + (isOnHost ? kNumRecomputes : 0); }
};
constexpr size_t kNumLayerWays = 2 * kNumRecomputes;

// One stage of the pipeline, all its chunks together; seconds of one micro-batch.
struct StageEstimate {
  llvm::SmallVector<std::pair<int64_t, int64_t>, 2> chunks; // layers [first, last] of each
  llvm::SmallVector<ChunkTimes, 2> chunkTimes;              // per chunk, including activation bytes
  double forward = 0, backwardInput = 0, backwardWeight = 0; // recomputation, waits included
  double computeSeconds = 0;                                 // part in kernels
  double exposedSeconds = 0;   // part in exposed collectives and copies inside the layers
  double recomputeSeconds = 0; // part in recomputation
  double gatherSeconds =
      0; // seconds that ZeRO-2 and 3 add for layers: waits, and slower compute beside transfers
  std::array<int32_t, kNumRecomputes> layersBy{}; // number of layers by recomputation mode
  // Returns the number of layers with a recomputation mode.
  int64_t layersThat(Recompute recompute) const { return layersBy[static_cast<size_t>(recompute)]; }
  int64_t layersOnHost = 0; // number of the layers whose activations are on the host
  double keptOnHost = 0;    // bytes of a micro-batch, beside keptPerMicroBatch
  double hostSeconds = 0;   // part of exposedSeconds in copies to the host and back
  // The ways in which gradients may travel, while they are compared.
  struct Exchange {
    double seconds, exposedSeconds;
  };
  llvm::SmallVector<Exchange, 10> exchanges; // one per size of bucketSizes()
  double gradientSeconds = 0;                // collectives of gradients and parameters, once a step
  double exposedGradientSeconds = 0;
  double optimizerSeconds = 0;
  double hostOptimizerSeconds = 0; // seconds of the update with its states in host memory
  double statesOnHost = 0;         // bytes of the optimizer's
  double hostBytes = 0; // bytes of host memory per device: states, and saved activations of layers
  // Seconds per micro-batch if the memory of optimizer states could replace recomputation; infinite
  // if the stage does not fit even then.
  double microBatchWithoutStates = std::numeric_limits<double>::infinity();
  double memoryLimit = 0; // bytes of one of its devices
  // Seconds per micro-batch besides those of the chunks: passes S and T of its share of the
  // vocabulary.
  double vocabularySeconds = 0;
  double inFlight = 0;          // micro-batches whose activations are alive at the peak
  double keptPerMicroBatch = 0; // bytes
  double stashed = 0;           // part of inFlight that only waits for gradients of weights
  MemoryParts memory;
  // Returns the seconds of one micro-batch, forward and backward.
  double microBatch() const { return forward + backwardInput + backwardWeight; }
};

} // namespace dtc
