// Conditions of the decisions about the pipeline.
#pragma once

#include "compiler/decide/decisions/Decisions.h"

namespace dtc {

// Returns true if stages may share the vocabulary under these decisions: passes S and T have
// positions in 1F1B and V-Half, and keep their parameters whole. Ignores whether they do.
bool mayDivideVocabulary(const Decisions &decisions);

} // namespace dtc
