// The kinds of pipeline schedules, and where they put the chunks of a model.
#pragma once

#include "compiler/support/Error.h"

#include <optional>

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
// Returns the kind of a name, the reverse of toString; the error lists the names.
Result<ScheduleKind> scheduleKindFromString(llvm::StringRef name);

// Returns true if the schedule computes the backward in two tasks: B (input) and W (weights).
bool splitsBackward(ScheduleKind kind);
// Returns true if the second of a stage's two chunks runs from the last stage to the first, so that
// the first stage holds the embedding and the head.
bool isV(ScheduleKind kind);
// The virtual stages of a kind; none for Interleaved, which has any number.
std::optional<int> virtualStagesOf(ScheduleKind kind);

// The stage that holds a chunk: chunk % stages, or for a V down and up again. Example: with 4
// stages chunk 5 is on stage 1 (Interleaved) or 2 (ZeroBubbleV).
int stageOfChunk(ScheduleKind kind, int stages, int chunk);
// The reverse: the chunk that a stage has in a turn, from 0 to its virtual stages.
int chunkOfStage(ScheduleKind kind, int stages, int stage, int turn);

} // namespace dtc
