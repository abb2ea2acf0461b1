// Rules of collectives and transfers: over which ranks, of what, and of which values.
#pragma once

#include "compiler/prove/verify/ProgramState.h"

#include <optional>

namespace dtc {

// Returns the axes along which a collective exchanges rows of samples for those of experts, or
// parts of sequences for heads, or back; none for others.
AxisSet exchangedBy(const ProgramState &state, const format::Collective &op);
// Returns true if a collective combines values of ranks, by their sum or maximum.
bool reducesValues(const format::Collective &op);
// Checks a collective that has read its source.
std::optional<Fault> checkCollective(const ProgramState &state, const format::Collective &op);
// Checks that a collective or transfer moves all of a buffer.
std::optional<Fault> checkWhole(const ProgramState &state, const Touch &touch);

} // namespace dtc
