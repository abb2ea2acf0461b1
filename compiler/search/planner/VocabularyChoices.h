// Enumerates the ways in which stages may share the vocabulary. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace dtc {

// Returns the decisions with each algorithm by which stages may share the vocabulary beside them,
// and, unless a pin says otherwise, without any.
llvm::SmallVector<Decisions, 3> vocabularyChoices(Decisions decisions, const SpaceLimits &limits,
                                                  const Pins &pins);

// Returns the reason why stages can't share the vocabulary as pins ask for; nullopt if they may.
std::optional<UserError> findVocabularyError(const SpaceLimits &limits, const Pins &pins);

} // namespace dtc
