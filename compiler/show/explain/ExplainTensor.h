// Explains the placement and the costs of tensors of a plan, as text and as JSON.
#pragma once

#include "compiler/show/explain/ExplainRequest.h"

#include "llvm/Support/raw_ostream.h"

#include <string>

namespace dtc {

// Parameters of that name, or whose name contains it: placement, shape and bytes of a rank, the ops
// that read it and the collectives that it causes. Equal layers are one. Errors: none
// matches; too many do.
Status explainTensor(llvm::raw_ostream &out, const ExplainRequest &request,
                     const std::string &name);

} // namespace dtc
