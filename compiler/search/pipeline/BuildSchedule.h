// The order in which the stages of a pipeline compute.
#pragma once

#include "compiler/search/pipeline/Schedule.h"

namespace dtc {

// The order of `problem.kind`. Without a cap, or one that its memory fits in, it is the order of
// the paper: GPipe, 1F1B and Interleaved do not look at the durations, the zero-bubble schedules
// place W by them. A smaller cap lets fewer micro-batches in, with longer bubbles. Interleaved
// takes any number of micro-batches: the last group of `stages` micro-batches may be smaller.
// Errors: a malformed problem, with the field; a cap that one micro-batch does not fit in, with the
// stage and the bytes.
// Example: 2 stages and 3 micro-batches of 1F1B are F0 F1 B0 F2 B1 B2 and F0 B0 F1 B1 F2 B2.
Result<PipelineSchedule> buildSchedule(const PipelineProblem &problem);

} // namespace dtc
