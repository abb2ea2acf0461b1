// Pipeline schedules: which stage computes which micro-batch of which chunk of the model, in what
// order, how long that takes and how many bytes it keeps alive.
//
// A pipeline of p stages with v virtual stages each cuts the model into p v chunks, in model order.
// Every micro-batch goes through all chunks forward and then backward. A backward may be split into
// the gradient of the input (B), which the chunk before waits for, and that of the weights (W),
// which nobody waits for.
#pragma once

#include "compiler/search/pipeline/ScheduleKind.h"
#include "compiler/support/Error.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dtc {

// One micro-batch on one chunk. Seconds and bytes; none is negative.
struct ChunkTimes {
  double forward = 0, backwardInput = 0, backwardWeight = 0;
  // Transfer of the output to the next chunk and of the input's gradient to the chunk before.
  // Beside computation, one after another per pair of stages and direction; none between two
  // chunks of one stage.
  double sendForward = 0, sendBackward = 0;
  int64_t activationBytes = 0;  // kept from the start of F to the end of B
  int64_t weightStashBytes = 0; // kept from the end of B to the end of W, where B and W are split
};

// One pipeline to schedule: its kind, sizes, chunk times and memory caps.
struct PipelineProblem {
  ScheduleKind kind = ScheduleKind::OneForwardOneBackward;
  int stages = 1;
  int virtualStages = 1; // chunks per stage; see virtualStagesOf
  int microBatches = 1;
  std::vector<ChunkTimes> chunks; // stages x virtualStages, in model order
  std::vector<int64_t> memoryCap; // bytes of activations and stashes per stage; empty: no cap
};

// The computation of a task.
enum class PipelineTaskKind {
  Forward,
  Backward, // both parts
  BackwardInput,
  BackwardWeight,
};
// "F", "B" for both Backward and BackwardInput, "W".
llvm::StringRef toString(PipelineTaskKind kind);

// One computation of a chunk for a micro-batch.
struct PipelineTask {
  PipelineTaskKind kind = PipelineTaskKind::Forward;
  int chunk = 0, microBatch = 0;
  friend bool operator==(const PipelineTask &a, const PipelineTask &b) {
    return a.kind == b.kind && a.chunk == b.chunk && a.microBatch == b.microBatch;
  }
};

// The order in which each stage runs its tasks.
struct PipelineSchedule {
  std::vector<std::vector<PipelineTask>> order; // per stage: what it computes, one after another
};

// The chunk activations that a stage keeps at its peak without a memory cap; divide by
// virtualStages for micro-batches. `activations` from F to the end of B, `pending` to the end of W
// (equal where the backward is not split). What the schedules of equal chunks reach when there are
// enough micro-batches, and what no schedule exceeds; an upper bound for Interleaved with a last
// group that is not full, and for the activations of V-Half and V-Min, which are told by their
// `pending`.
struct InFlight {
  int64_t activations = 0, pending = 0;
};
// Returns the chunk activations that the schedule stores at most on a stage.
InFlight inFlight(ScheduleKind kind, int stages, int virtualStages, int microBatches, int stage);

} // namespace dtc
