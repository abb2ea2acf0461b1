// Enumerates the ways of experts beside tensor parallelism, and says why there is none. Internal to
// this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace dtc {

// Returns a mesh whose tensor parallelism splits each expert, and the mesh with experts that are
// whole on its ranks, each with token groups of its own; the ones that the model, the software and
// pins permit.
llvm::SmallVector<Decisions, 2> expertChoices(const Decisions &mesh, const SpaceLimits &limits,
                                              const Pins &pins);

// Returns true if pins and the model permit experts that are whole on ranks of tensor parallelism,
// of some mesh.
bool mayFoldAtAll(const SpaceLimits &limits, const Pins &pins);

// Returns the reason why the model does not have the folded experts that pins ask for; nullopt if
// it may.
std::optional<UserError> findFoldingError(const SpaceLimits &limits, const Pins &pins);

// Returns the reason why experts do not have the room that pins ask for; nullopt if they may.
std::optional<UserError> findRoomError(const SpaceLimits &limits, const Pins &pins);

} // namespace dtc
