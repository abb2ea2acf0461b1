// What layers of one stage may recompute beside each other, as the [space] of a stack says.
#pragma once

#include "compiler/stack/SoftwareStack.h"
#include "dialects/graph/Recompute.h"

#include <utility>
#include <vector>

namespace dtc {

// Whether some layers of a stage may recompute `high` while the others do `low`, which is part of it: all layers may
// do either, and what they are is mixed. What is selective with further groups of ops mixes as what is selective, and two such where
// selective mixes with full.
bool mayMix(Recompute low, Recompute high, const LegalSpace &space);

// All for which that is so.
std::vector<std::pair<Recompute, Recompute>> recomputeMixes(const LegalSpace &space);

} // namespace dtc
