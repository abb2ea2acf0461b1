// The flow functions: how an instruction changes the values of a program.
#pragma once

#include "compiler/prove/verify/FlowResult.h"
#include "compiler/prove/verify/ProgramState.h"

namespace dtc {

// Follows the instruction that `state` is at, by the flow function of its kind. An instruction that
// waits is followed again, with ProgramState::isBlocked.
FlowResult followInstruction(ProgramState &state);

} // namespace dtc
