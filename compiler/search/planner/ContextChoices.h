// Enumerates the ways of context parallelism of a mesh. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"

#include <vector>

namespace dtc {

// Returns true if pins, software and the model's windows permit the kind for several ranks of
// context parallelism.
bool mayMeet(ContextKind kind, const SpaceLimits &limits, const Pins &pins);

// A way of context parallelism of a mesh that the model and the software support. Heads are spread
// over ranks in equal numbers, and so are the heads of keys and values (TransformerEngine's
// context_parallel.py requires it of cp). Sliding windows go around a ring if the software supports
// it.
struct ContextChoice {
  ContextKind kind;
  int64_t inner = 1;
};
// Returns the ways of context parallelism for a mesh; see ContextChoice.
std::vector<ContextChoice> contextChoices(Decisions mesh, const SpaceLimits &limits,
                                          const Pins &pins);

} // namespace dtc
