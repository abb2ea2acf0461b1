// Explains the costs of ops of a plan, as text and as JSON.
#pragma once

#include "compiler/show/explain/ExplainRequest.h"

#include "llvm/Support/raw_ostream.h"

#include <string>

namespace dtc {

// Ops whose "name parameter" contains `pattern`, on the stage that spends most on them: sizes,
// seconds by term and what of the device's peak each uses. Example: "mlp.c_fc". Errors: none
// matches.
Status explainOps(llvm::raw_ostream &out, const ExplainRequest &request,
                  const std::string &pattern);

} // namespace dtc
