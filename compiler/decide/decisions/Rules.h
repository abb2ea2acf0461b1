// Checks the rules between decisions, which hold for every model, system and software. A rule is
// stated once, in the row of the decision that it is about; search, pins and plan files ask here.
#pragma once

#include "compiler/decide/decisions/Pins.h"

namespace dtc {

// Returns the first rule that the decisions break; null if they break none.
const Rule *findBrokenRule(const Decisions &decisions);
// Returns true if the decisions obey the rules of the decision with that key.
bool obeysRulesOf(llvm::StringRef key, const Decisions &decisions);

// Returns true if all decisions of a list of keys, "zero,pp", are pinned.
bool arePinned(llvm::StringRef keys, const Pins &pins);
// Returns the decisions of a list of keys as --fix takes them: "zero=1,pp=2".
std::string pinsText(llvm::StringRef keys, const Decisions &decisions);

// Returns the refusal of pins that break a rule whose decisions are all pinned:
// "--fix vocab_over_pp=1,pp=1: vocabulary parallelism needs pipeline stages".
std::optional<UserError> findBrokenRule(const Pins &pins);

// A key of a plan file, and what is wrong with its value.
struct Fault {
  std::string key, what;
};
// Returns the refusal of the decisions of a plan file: "vocab_over_pp", "is 1 with pp 1: vocabulary
// parallelism needs pipeline stages".
Fault faultOf(const Rule &rule, const Decisions &decisions);

} // namespace dtc
