// Sets the transfer times between the chunks of a pipeline.
#pragma once

#include "compiler/search/pipeline/Schedule.h"

#include "llvm/ADT/ArrayRef.h"

namespace dtc {

// Fills in what the chunks of a problem send: `seconds` at each boundary between stages, or by
// boundary where those differ. From the last stage to the first, which interleaved schedules send
// to, all boundaries are crossed: the slowest counts.
void setTransfers(PipelineProblem &problem, double seconds, llvm::ArrayRef<double> byBoundary);

} // namespace dtc
