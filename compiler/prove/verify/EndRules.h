// Rules of the state that an entry leaves.
#pragma once

#include "compiler/prove/verify/ProgramState.h"

#include <optional>

namespace dtc {

// Checks that all that was brought was for something, that memory of parameters and state holds
// these, and that what is reported is known to every rank.
std::optional<Fault> checkEnd(ProgramState &state);

} // namespace dtc
