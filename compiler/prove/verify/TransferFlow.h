// The flow function of sends and receives between ranks.
#pragma once

#include "compiler/prove/verify/FlowResult.h"
#include "compiler/prove/verify/ProgramState.h"

namespace dtc {

// Follows a send, or a receive once its peers have sent.
FlowResult followTransfer(ProgramState &state);

} // namespace dtc
