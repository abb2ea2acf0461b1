// Limits the chunks of tokens in which a loss can be computed. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"

#include <optional>

namespace dtc {

// Returns true if the chunks of the loss divide the samples of a micro-batch, or the tokens that a
// rank has of a sample: all chunks of a program are equal.
bool mayCutLoss(const Decisions &decisions, const SpaceLimits &limits);

// Returns the numbers of chunks to try for a mesh: the pinned one, else 1 and, where the logits of
// a micro-batch and their gradients take a large share of the device's memory, the fewest that make
// them small.
llvm::SmallVector<int64_t, 4> lossChoices(Decisions mesh, const SpaceLimits &limits,
                                          const Pins &pins);

// Returns the reason why no micro-batch can have the chunks that pins ask for; nullopt if one may.
std::optional<UserError> findLossError(const SpaceLimits &limits, const Pins &pins);

} // namespace dtc
