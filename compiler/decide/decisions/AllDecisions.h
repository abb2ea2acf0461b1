// All decisions: their order in lists, in plan files and between plans that tie, and what is asked
// of all of them.
#pragma once

#include "compiler/decide/decisions/Decision.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace dtc {

// Returns the decisions that plans say, in the order of lists and of --help.
llvm::ArrayRef<const Decision *> decisions();
// Returns the same decisions in the order of plan files.
llvm::ArrayRef<const Decision *> decisionsOfPlans();
// Returns all fields of Decisions, also those that plans don't say.
llvm::ArrayRef<const Decision *> allDecisions();
// Returns the decision with that key of plans; null if there is none.
const Decision *findDecision(llvm::StringRef key);
// Returns the value of the decision with that key, which must exist.
std::string valueOf(const Decisions &decisions, llvm::StringRef key);

// Returns the first decision that 'dtc compile' does not lower; null if it lowers all.
const Decision *findUncompilable(const Decisions &decisions);

// Returns the decisions with all that are no part of a key at their usual values, so that equal
// ones share the result.
Decisions keyOf(KeptResult result, const Decisions &decisions);
// Returns the values of the decisions that are no part of a key: what a finer key within it needs.
llvm::SmallVector<int64_t, 16> restOf(KeptResult result, const Decisions &decisions);

} // namespace dtc
