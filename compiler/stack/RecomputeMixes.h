// What layers of one stage may recompute beside each other, as the [space] of a stack says.
#pragma once

#include "compiler/stack/SoftwareStack.h"
#include "dialects/graph/Recompute.h"

#include <utility>
#include <vector>

namespace dtc {

// Whether some layers of a stage may recompute `high` while the others do `low`, which is part of it. What is
// selective with further groups of ops mixes as what is selective, where the software has it.
bool mayMix(Recompute low, Recompute high, const LegalSpace &space);

// All for which that is so.
std::vector<std::pair<Recompute, Recompute>> recomputeMixes(const LegalSpace &space);

} // namespace dtc
