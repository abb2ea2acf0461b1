// The flow function of copies: bytes take the values of the bytes that they are copied from.
#pragma once

#include "compiler/prove/verify/ProgramState.h"

#include <optional>

namespace dtc {

// Follows a strided copy, which may add to its destination.
std::optional<Fault> followCopy(ProgramState &state);

} // namespace dtc
