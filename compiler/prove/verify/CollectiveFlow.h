// The flow function of collectives: values are reduced, gathered or exchanged along mesh axes.
#pragma once

#include "compiler/prove/verify/FlowResult.h"
#include "compiler/prove/verify/ProgramState.h"

namespace dtc {

// Follows a collective, once the other programs that take part have contributed.
FlowResult followCollective(ProgramState &state);

} // namespace dtc
