// Time and memory of one stage of a pipeline.
#pragma once

#include "compiler/memory/MemoryParts.h"
#include "compiler/pipeline/Schedule.h"
#include "dialects/graph/Recompute.h"

#include "llvm/ADT/SmallVector.h"

#include <limits>

namespace dtc {

// What a layer does so that it keeps less on its device.
struct LayerWay {
  Recompute recompute = Recompute::None;
  bool isOnHost = false; // with what it still keeps
  bool operator==(const LayerWay &) const = default;
  size_t index() const { return static_cast<size_t>(recompute) + (isOnHost ? kNumRecomputes : 0); }
};
constexpr size_t kNumLayerWays = 2 * kNumRecomputes;

// One stage of the pipeline, all its chunks together; seconds of one micro-batch.
struct StageEstimate {
  llvm::SmallVector<std::pair<int64_t, int64_t>, 2> chunks;  // layers [first, last] of each
  llvm::SmallVector<ChunkTimes, 2> chunkTimes;               // of each, bytes kept included
  double forward = 0, backwardInput = 0, backwardWeight = 0; // recomputation, waits included
  double computeSeconds = 0;                                 // of these, kernels
  double exposedSeconds =
      0; // of these, collectives and copies inside the layers that nothing hides
  double recomputeSeconds = 0; // of these, recomputation
  double gatherSeconds =
      0; // what ZeRO-2 and 3 move for layers: waits, and compute beside it slowed
  std::array<int32_t, kNumRecomputes> layersBy{}; // what they recompute
  int64_t layersThat(Recompute recompute) const { return layersBy[static_cast<size_t>(recompute)]; }
  int64_t layersOnHost = 0; // of all of them
  double keptOnHost = 0;    // bytes of a micro-batch, beside keptPerMicroBatch
  double hostSeconds = 0;   // of exposedSeconds, copies of these to the host and back
  // The ways in which gradients may travel, while they are compared.
  struct Exchange {
    double seconds, exposedSeconds;
  };
  llvm::SmallVector<Exchange, 10> exchanges; // as many as bucketSizes() has
  double gradientSeconds = 0;                // collectives of gradients and parameters, once a step
  double exposedGradientSeconds = 0;
  double optimizerSeconds = 0;
  double hostOptimizerSeconds = 0; // that it takes with its states in the host's memory
  double statesOnHost = 0;         // bytes of the optimizer's
  double hostBytes = 0; // of the host's memory for one device: these, and what layers keep there
  // Of a micro-batch, if the memory of the optimizer's states were free for less recomputation;
  // infinite where the stage does not fit even then.
  double microBatchWithoutStates = std::numeric_limits<double>::infinity();
  double memoryLimit = 0; // bytes of one of its devices
  // Of a micro-batch, beside those of the chunks: passes S and T of its share of the vocabulary.
  double vocabularySeconds = 0;
  double inFlight = 0;          // micro-batches whose activations are alive at the peak
  double keptPerMicroBatch = 0; // bytes
  double stashed = 0;           // of inFlight, those that wait for gradients of weights alone
  MemoryParts memory;
  double microBatch() const { return forward + backwardInput + backwardWeight; }
};

} // namespace dtc
