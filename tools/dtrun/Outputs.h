// What the ranks that compute a loss and other outputs report to all others.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Control.h"
#include "runtime/exec/Executor.h"

#include <string>

namespace dtc::rt {

// The first rank whose program has the output; -1 where none has.
// Example: of a pipeline, a rank of its last stage for the loss.
int rankWith(const format::Manifest &manifest, format::OutputRole role);

// Gives rank 0, which prints them, the outputs that only programs of other ranks have. Collective,
// between steps: a few bytes, and none where rank 0 has all.
Status bringOutputs(const format::Manifest &manifest, Control &world, StepResult &result);

// The same for a number that all ranks with a loss know.
Status bringFromLoss(const format::Manifest &manifest, Control &world, double &value);

// The same for text of rank `from`, which all ranks know.
Status bringText(Control &world, int from, std::string &value);

} // namespace dtc::rt
