// Bytes of the stages of a pipeline. Internal to this folder.
#pragma once

#include "compiler/price/estimate/StageEstimate.h"
#include "compiler/price/estimate/StageInputs.h"

#include <array>
#include <bitset>

namespace dtc {

// Sums over the parts of a stage that determine its memory. Parameters are counted in elements of a
// rank, activations in bytes of one micro-batch.
struct PartSums {
  // Trained parameters; summed: those with gradients summed over tensor-parallel ranks.
  double dense = 0, expert = 0, summed = 0;
  double denseMatrices = 0, expertMatrices = 0; // those of them in hidden matrices
  double frozenDense = 0, frozenExpert = 0;     // frozen parameters
  double embeddingAndHead = 0;                  // all parameters of embedding and head
  double transient = 0, largestLayer = 0, largestTrained = 0;
  // The bytes of the largest layer that is recomputed or copied, by way.
  std::array<double, kNumLayerWays> workspace{};
  std::bitset<kNumLayerWays> ways; // ways that layers of the stage use
  // Activations of the head, alive for one micro-batch: its backward follows at once.
  double headKept = 0;
  double kept = 0; // saved by layers that recompute nothing
  double sent = 0; // stay allocated after they were sent
  // The elements of whole hidden matrices, and the flops that make them orthogonal.
  double matrixElements = 0, matrixFlops = 0;

  // Adds a layer, the embedding or the head.
  void add(const BlockCost &part, bool isLayer);
  // Adds a layer that uses a way.
  void addLayer(const BlockCost &part, LayerWay way);
  // Takes off what embedding and head of one stage share.
  void takeTied(const ModelCost &cost);
  // Returns the largest workspace of the ways that layers use.
  double largestWorkspace() const;
};

// The micro-batches alive on a stage. `inFlight` counts from F to the end of W; `stashed` those of
// them between B and W, with the one whose B has just ended. A stashed micro-batch holds the
// operands of gradients of weights, inputs of matrix products and gradients of their results, which
// together are as much as a layer saves without recomputation: 32 of 34 s b h bytes, Qi et al.
// 2023, arXiv:2401.10241, section 3.
struct MicroBatchesAlive {
  double inFlight = 0, stashed = 0;
  double inputs = 0; // bytes of tokens and targets: a program has those of the whole step
};

// Returns the micro-batches alive on a stage.
MicroBatchesAlive aliveOf(const StageInputs &in, size_t stage);

// Returns the bytes that a stage keeps of the output of a chunk, which ends with `layer`, after
// sending it. The next stage holds the same bytes as its input; the sender drops them once they are
// sent, or keeps them.
double sentAfter(const StageInputs &in, size_t chunk, int64_t layer, const StageKind &at);

// The bytes of a micro-batch's activations on a stage.
struct ActivationBytes {
  double kept = 0;       // saved
  double recomputed = 0; // that recomputation and offloading avoid saving until B
  // That a layer holds while it is recomputed, and those on their way to or from the host.
  double workspace = 0;
};

// Returns the memory of a stage.
MemoryParts memoryOf(const StageInputs &in, const PartSums &sums, const StageKind &at,
                     const MicroBatchesAlive &alive, const ActivationBytes &activations);

// Returns the bytes of parameters, gradients and states of a part.
double statesOf(const StageInputs &in, const BlockCost &block, const StageKind &at);

// Sets the memory of a stage, and the micro-batches that are alive.
void addMemory(const StageInputs &in, size_t index, const PartSums &sums, StageEstimate &stage);

// Returns the bytes of host memory that a device of stage `index` may use; 0 if unknown.
double hostLimitOf(const StageInputs &in, size_t index, const StageEstimate &stage);

// Returns the bytes of host memory that layers may use beside the optimizer's states.
double hostRoomOf(double statesOnHost, const StageKind &at);

} // namespace dtc
