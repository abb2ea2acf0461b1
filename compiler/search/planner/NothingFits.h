// The errors of requests that no plan fits. Internal to this folder.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/search/planner/Candidate.h"
#include "compiler/support/Error.h"

namespace dtc {

// Returns the error that names the candidate which comes nearest, what it needs and of what kinds.
// `limit` describes the memory that a plan may use: "72 GiB".
UserError nothingFits(const Candidate &least, llvm::StringRef limit);
// Returns the same error for a plan whose memory was planned to the byte.
UserError nothingFits(const Plan &smallest, llvm::StringRef limit);

} // namespace dtc
