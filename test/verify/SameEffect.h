// Shows that a change of a program has no effect: every read reads data of the same instruction as
// before, or a sum of the same addends, and no conflicting accesses can happen at the same time.
#pragma once

#include "runtime/format/dte_generated.h"

namespace dtc::mutate {

// Returns true if both manifests have the same effect. Both have passed the loader's checks and
// have the same instructions; their order, memory, slots and waits may differ. The check shares no
// code with the proof of compiler/prove/verify: it uses a graph of happens-before, and a map of the
// arena's bytes.
bool haveSameEffect(const format::Manifest &before, const format::Manifest &after);

} // namespace dtc::mutate
