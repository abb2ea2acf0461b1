// The fingerprint of a software stack.
#pragma once

#include "compiler/describe/stack/SoftwareStack.h"

#include <string>

namespace dtc {

// Returns everything that a plan's seconds and bytes depend on, as text: equal for equal stacks.
std::string fingerprintOf(const SoftwareStack &stack);

} // namespace dtc
