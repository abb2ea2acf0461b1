// Explains the experts of a plan: their rows, what is sent for them, and what uneven use costs.
#pragma once

#include "compiler/show/explain/ExplainRequest.h"

#include "llvm/Support/raw_ostream.h"

namespace dtc {

// Prints, for each kind of layers with experts on a stage: the experts of a rank, their mean number
// of rows in a micro-batch and their room, and the bytes that a rank sends for one dispatch and one
// combine; and the seconds of a step where the fullest rank has 1, 1.3 and 2 times the mean. As
// text, or as JSON. Errors: a model without experts, a stage that the plan or its experts do not
// have.
Status explainExperts(llvm::raw_ostream &out, const ExplainRequest &request, size_t stage);

} // namespace dtc
