// The flow function of computations: every result depends on every operand.
#pragma once

#include "compiler/prove/verify/ProgramState.h"

#include <optional>

namespace dtc {

// Follows a kernel, a product, attention, or any other instruction that computes, and zeros.
std::optional<Fault> followFunction(ProgramState &state);

} // namespace dtc
