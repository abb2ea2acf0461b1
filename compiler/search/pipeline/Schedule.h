// Pipeline schedules: which stage computes which micro-batch of which chunk of the model, in what
// order, how long that takes and how many bytes it keeps alive.
//
// A pipeline of p stages with v virtual stages each cuts the model into p v chunks, in model order.
// Every micro-batch goes through all chunks forward and then backward. A backward may be split into
// the gradient of the input (B), which the chunk before waits for, and that of the weights (W),
// which nobody waits for.
#pragma once

#include "compiler/support/Error.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dtc {

// A pipeline schedule of the literature.
enum class ScheduleKind {
  GPipe,                 // all forwards, then all backwards; Huang et al. 2019, arXiv:1811.06965
  OneForwardOneBackward, // PipeDream-flush; Narayanan et al. 2021, arXiv:2104.04473, section 2.2.1
  Interleaved,           // 1F1B over v chunks per stage; the same paper, section 2.2.2
  ZeroBubbleH1,          // 1F1B's memory, W fills the bubbles; Qi et al. 2023, arXiv:2401.10241
  ZeroBubbleV,           // two chunks per stage, down and up again; the same paper, section 6
  ZeroBubble2P, // forwards run ahead until twice 1F1B's memory is full; same paper, section 4.2
  VHalf,        // ZeroBubbleV's chunks, half of 1F1B's memory; Qi et al. 2024, arXiv:2405.15362
  VMin,         // the same paper: a third of it
};

// "gpipe", "1f1b", "interleaved", "zero-bubble" (H1), "zb-v", "zb-2p", "v-half" and "v-min".
llvm::StringRef toString(ScheduleKind kind);
// The reverse of toString; the error lists the names.
Result<ScheduleKind> scheduleKindFromString(llvm::StringRef name);

// Returns true if the schedule computes the backward in two tasks: B (input) and W (weights).
bool splitsBackward(ScheduleKind kind);
// Returns true if the second of a stage's two chunks runs from the last stage to the first, so that
// the first stage holds the embedding and the head.
bool isV(ScheduleKind kind);
// The virtual stages of a kind; none for Interleaved, which has any number.
std::optional<int> virtualStagesOf(ScheduleKind kind);

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

// The stage that holds a chunk: chunk % stages, or for a V down and up again. Example: with 4
// stages chunk 5 is on stage 1 (Interleaved) or 2 (ZeroBubbleV).
int stageOfChunk(ScheduleKind kind, int stages, int chunk);
// The reverse: the chunk that a stage has in a turn, from 0 to its virtual stages.
int chunkOfStage(ScheduleKind kind, int stages, int stage, int turn);

// The order of `problem.kind`. Without a cap, or one that its memory fits in, it is the order of
// the paper: GPipe, 1F1B and Interleaved do not look at the durations, the zero-bubble schedules
// place W by them. A smaller cap lets fewer micro-batches in, with longer bubbles. Interleaved
// takes any number of micro-batches: the last group of `stages` micro-batches may be smaller.
// Errors: a malformed problem, with the field; a cap that one micro-batch does not fit in, with the
// stage and the bytes.
// Example: 2 stages and 3 micro-batches of 1F1B are F0 F1 B0 F2 B1 B2 and F0 B0 F1 B1 F2 B2.
Result<PipelineSchedule> buildSchedule(const PipelineProblem &problem);

// Seconds since the start of the step.
struct TaskTime {
  double start = 0, end = 0;
  double ready = 0; // when its last input was there: it waited for its stage from then to `start`
};

// The times and the memory peaks of one stage, in seconds and bytes.
struct StageTiming {
  double busySeconds = 0;
  double firstStart = 0, lastEnd = 0;
  int64_t peakActivations = 0; // chunk activations between the start of F and the end of B
  int64_t peakPending = 0;     // the same with stashes: between the start of F and the end of W
  int64_t peakBytes = 0;
  // Idle seconds between its first and its last task: what a zero-bubble schedule brings to zero.
  double innerIdleSeconds() const { return lastEnd - firstStart - busySeconds; }
};

// The simulated times of a schedule.
struct PipelineTiming {
  double makespan = 0;       // seconds from the first start to the last end
  double bubbleFraction = 0; // idle share of stages x makespan
  std::vector<StageTiming> stages;
  std::vector<std::vector<TaskTime>> tasks; // like PipelineSchedule::order
};

// Runs every stage's order as early as its inputs allow, each receive blocking. Linear in the
// number of tasks. Does not look at the memory cap. Errors: a task that is missing, there twice or
// on the wrong stage; a deadlock, with the stage and the task that waits for ever.
Result<PipelineTiming> timeSchedule(const PipelineSchedule &schedule,
                                    const PipelineProblem &problem);

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

// Seconds of the step in closed form, where there is one: GPipe of any chunks, and 1F1B and
// Interleaved (microBatches a multiple of stages) of equal chunks with free transfers, without a
// memory cap. Equal to timeSchedule's makespan.
std::optional<double> closedFormMakespan(const PipelineProblem &problem);

// The makespan of buildSchedule's order, without the order where that can be avoided: in closed
// form, or by simulating fewer micro-batches until all stages repeat themselves, and skipping the
// repetitions. The same result up to rounding (1e-9 relative); the same errors.
Result<double> pipelineMakespan(const PipelineProblem &problem);

// Seconds that no schedule of the kind can beat, whatever its order: for every stage all its work,
// after the way of the first micro-batch down to it and before that of the last one up, with no
// more forwards before its first backward than inFlight allows. Linear in the number of chunks.
// Wants a well-formed problem; ignores the memory cap.
double makespanLowerBound(const PipelineProblem &problem);

} // namespace dtc
