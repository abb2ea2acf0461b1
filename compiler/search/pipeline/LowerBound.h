// A bound on the seconds of all schedules of a kind.
#pragma once

#include "compiler/search/pipeline/Schedule.h"

namespace dtc {

// Seconds that no schedule of the kind can beat, whatever its order: for every stage all its work,
// after the way of the first micro-batch down to it and before that of the last one up, with no
// more forwards before its first backward than inFlight allows. Linear in the number of chunks.
// Wants a well-formed problem; ignores the memory cap.
double makespanLowerBound(const PipelineProblem &problem);

} // namespace dtc
