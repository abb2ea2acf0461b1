// Enumerates the ways of context parallelism of a mesh, and says why there is none. Internal to
// this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"

#include <optional>
#include <vector>

namespace dtc {

// Returns a mesh in each way of context parallelism that the model and the software support. Heads
// are spread over ranks in equal numbers, and so are the heads of keys and values
// (TransformerEngine's context_parallel.py requires it of cp). Sliding windows go around a ring if
// the software supports it.
std::vector<Decisions> contextChoices(Decisions mesh, const SpaceLimits &limits, const Pins &pins);

// Returns the mesh in the way that meshes of one rank of context parallelism have.
Decisions withoutContextChoice(Decisions mesh);

// Returns the reason why no number of ranks of context parallelism that the pins permit has a kind
// that they permit; nullopt if one has. `tp` and `cp` are the only sizes that pins permit, or 0.
std::optional<UserError> findContextError(int64_t tp, int64_t cp, const SpaceLimits &limits,
                                          const Pins &pins);

} // namespace dtc
