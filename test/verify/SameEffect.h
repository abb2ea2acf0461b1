// Shows that a change of a program is none: every read reads what the same instruction wrote as before,
// and nothing that conflicts can happen at the same time.
#pragma once

#include "runtime/format/dte_generated.h"

namespace dtc::mutate {

// Both manifests have passed the loader's checks and have the same instructions, in whatever order,
// memory, slots and with whatever waits. By other means than compiler/verify: a graph of what happens
// before what, and a map of the arena's bytes.
bool haveSameEffect(const format::Manifest &before, const format::Manifest &after);

} // namespace dtc::mutate
