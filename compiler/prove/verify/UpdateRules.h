// Rules of instructions that update parameters and state.
#pragma once

#include "compiler/prove/verify/ProgramState.h"

#include <optional>

namespace dtc {

// Checks the gradient of an update. An optimizer takes for each part of a tensor that part's
// gradient: what goes into it, element by element, differs wherever parts of the tensor do, and is
// summed over all samples.
std::optional<Fault> checkUpdate(const ProgramState &state);

} // namespace dtc
