// Decides which kinds of recomputation the layers of one stage may mix, by the [space] of a stack.
#pragma once

#include "compiler/decide/decisions/LegalSpace.h"
#include "dialects/graph/Recompute.h"

#include <utility>
#include <vector>

namespace dtc {

// Returns true if some layers of a stage may recompute `high` while the others recompute `low`,
// which is a part of it: each must be allowed for all layers, and the mix of the two must be
// allowed. Selective recomputation with further groups of ops mixes like selective. Two such kinds
// mix if selective mixes with full.
bool mayMix(Recompute low, Recompute high, const LegalSpace &space);

// Returns all pairs for which mayMix is true.
std::vector<std::pair<Recompute, Recompute>> recomputeMixes(const LegalSpace &space);

} // namespace dtc
