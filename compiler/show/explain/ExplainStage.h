// Explains the work and the costs of a stage of a plan, as text and as JSON.
#pragma once

#include "compiler/show/explain/ExplainRequest.h"

#include "llvm/Support/raw_ostream.h"

namespace dtc {

// Layers, ranks, where a micro-batch's and a step's seconds go, memory by kind, collectives, and
// the costliest ops. Errors: no such stage.
Status explainStage(llvm::raw_ostream &out, const ExplainRequest &request, int64_t stage);

} // namespace dtc
