// The building blocks of V-Half and V-Min: one micro-batch's way down and up a V and back, at
// moments of a time in which every task lasts 1. A new micro-batch starts every six, which are a
// stage's six tasks.
//
// Source: Qi et al. 2024, "Pipeline Parallelism with Controllable Memory", arXiv:2405.15362,
// section 4; moments as in megatron/core/pipeline_parallel/zerobubble/scheduler/zbv_greedy.py of
// sail-sg/zero-bubble-pipeline-parallelism at 39f2c186.
#pragma once

#include "compiler/search/pipeline/ScheduleKind.h"

namespace dtc {

constexpr int kBlockInterval = 6;

// When a stage computes the first micro-batch: F of its first and its second chunk, B of its second
// and its first. W is at the first moments that these leave.
struct BlockMoments {
  int firstForward = 0, secondForward = 0, secondBackward = 0, firstBackward = 0;
};

// Wants VHalf or VMin.
BlockMoments blockMoments(ScheduleKind kind, int stages, int stage);

// The chunk activations between F and W that a stage keeps at its peak when blocks follow one
// another; of some numbers of stages V-Min's first ones keep less. Example: 6 of V-Half on 4
// stages, where 1F1B keeps 8, two of each micro-batch.
int blockPeak(ScheduleKind kind, int stages);

} // namespace dtc
