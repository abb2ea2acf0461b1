// Enumerates the ways in which stages may share the vocabulary. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"

#include "llvm/ADT/SmallVector.h"

namespace dtc {

// Returns the algorithms by which stages may share the vocabulary beside the other decisions. 0,
// none, is included unless a pin says otherwise.
llvm::SmallVector<int64_t, 3> vocabularyChoices(Decisions decisions, const SpaceLimits &limits,
                                                const Pins &pins);

} // namespace dtc
