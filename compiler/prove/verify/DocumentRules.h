// Rules of the inputs of models whose samples hold several documents.
#pragma once

#include "compiler/prove/verify/Fault.h"
#include "runtime/format/dte_generated.h"

#include <optional>

namespace dtc {

// Returns the first fault of the inputs of programs that read `documents`, the numbers of tokens'
// documents: positions, targets and weights of a rank have to be those of its tokens, no pack of
// documents is cut by the zigzag of one sequence, and a loss has to leave out the last token of a
// document, which has no target.
std::optional<Fault> findDocumentFault(const format::Manifest &manifest);

} // namespace dtc
